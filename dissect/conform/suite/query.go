package suite

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/bcdissect/bcdissect/decode/gamespy"
	"github.com/bcdissect/bcdissect/decode/wire"
)

// The keys of a reply, by query.
var (
	basicKeys = []string{"gamename", "gamever", "location"}
	infoKeys  = []string{"hostname", "missionscript", "mapname", "numplayers", "maxplayers", "gamemode"}
	ruleKeys  = []string{"timelimit", "fraglimit", "system", "password"}
)

func queryCases() []Case {
	return []Case{
		{ID: "Q-1", asks: `\status\`, run: statusQuery},
		{ID: "Q-2", run: partQueries},
		{ID: "Q-3", asks: `\basic\\rules\`, run: combinedQueries},
		{ID: "Q-4", asks: `\basic\\secure\LRPOPQ`, run: secureQuery},
		{ID: "Q-5", needs: (*T).counts, client: (*T).joined, run: queryInGame},
		{ID: "Q-6", asks: `\status\`, run: longReply},
		{ID: "Q-7", run: queryNumbers},
	}
}

// keysOf returns the keys of a reply, in order.
func keysOf(r *gamespy.Reply) (keys []string) {
	for k := range r.Pairs() {
		keys = append(keys, k.Raw())
	}
	return keys
}

// said shows a reply.
func said(r *gamespy.Reply) string {
	var b strings.Builder
	for k, v := range r.Pairs() {
		fmt.Fprintf(&b, `\%s\%s`, k.Raw(), v.Raw())
	}
	return b.String()
}

func isPlayer(key string) bool {
	n, ok := strings.CutPrefix(key, "player_")
	_, err := strconv.ParseUint(n, 10, 16)
	return ok && err == nil
}

func statusQuery(t *T) error {
	reply := t.reply
	keys := keysOf(reply)
	want := slices.Concat(basicKeys, infoKeys, ruleKeys)
	got := slices.DeleteFunc(slices.Clone(keys), func(k string) bool { return k == "queryid" || k == "final" || isPlayer(k) })
	if !slices.Equal(got, want) {
		return t.fail("the keys "+strings.Join(want, ", "), said(reply))
	}
	if len(keys) < 2 || keys[len(keys)-1] != "queryid" || keys[len(keys)-2] != "final" {
		return t.fail(`\final\ and \queryid\N.M at the end`, said(reply))
	}
	for _, want := range [][2]string{{"gamename", "bcommander"}, {"gamever", "60"}, {"final", ""}} {
		if got, _ := reply.Get(want[0]); got.Raw() != want[1] {
			return t.fail(fmt.Sprintf("%s to be %q", want[0], want[1]), said(reply))
		}
	}
	for i := range t.opened {
		for _, d := range t.opened[i].texts {
			if strings.HasSuffix(string(d), `\`) {
				return t.fail("no backslash at the end", string(d))
			}
		}
	}
	return nil
}

func partQueries(t *T) error {
	for _, q := range []struct {
		word string
		keys []string
	}{{"basic", basicKeys}, {"info", infoKeys}, {"rules", ruleKeys}, {"players", nil}} {
		reply, err := t.query(`\` + q.word + `\`)
		if err != nil {
			return err
		}
		got := slices.DeleteFunc(keysOf(reply), func(k string) bool {
			return k == "queryid" || k == "final" || q.keys == nil && isPlayer(k)
		})
		slices.Sort(got)
		want := slices.Sorted(slices.Values(q.keys))
		if !slices.Equal(got, want) {
			return t.proves(fmt.Sprintf(`the keys %s in the reply to \%s\`, strings.Join(q.keys, ", "), q.word), said(reply))
		}
	}
	return nil
}

func combinedQueries(t *T) error {
	for _, k := range slices.Concat(basicKeys, ruleKeys) {
		if _, ok := t.reply.Get(k); !ok {
			return t.proves("the keys of both queries", said(t.reply))
		}
	}
	reply, err := t.query(`\echo\conform`)
	if err != nil {
		return err
	}
	if got, _ := reply.Get("echo"); got != "conform" {
		return t.proves(`\echo\conform`, said(reply))
	}
	return nil
}

func secureQuery(t *T) error {
	keys := keysOf(t.reply)
	if got, _ := t.reply.Get("validate"); got != "hMwdTNWS" || slices.Index(keys, "validate") > slices.Index(keys, "final") {
		return t.proves(`\validate\hMwdTNWS before \final\`, said(t.reply))
	}
	return nil
}

// counted returns how many players the host says there are.
func (t *T) counted() (n int, reply *gamespy.Reply, err error) {
	if reply, err = t.query(`\status\`); err != nil {
		return 0, nil, skip("the host does not answer queries")
	}
	n, ok := number(reply, "numplayers")
	if !ok {
		return 0, reply, skip("the host does not tell numplayers")
	}
	return n, reply, nil
}

// counts notes how many players there are before the clients of the case join.
func (t *T) counts() (err error) {
	t.before, _, err = t.counted()
	return err
}

// number returns the number with a key in a reply.
func number(reply *gamespy.Reply, key string) (n int, ok bool) {
	text, _ := reply.Get(key)
	n, err := strconv.Atoi(text.Raw())
	return n, err == nil
}

func queryInGame(t *T) error {
	after, reply, err := t.counted()
	if err != nil {
		return t.fail("an answer while somebody plays")
	}
	if after != t.before+1 {
		return t.fail(fmt.Sprintf("numplayers %d, one more than before the join", t.before+1), said(reply))
	}
	if !slices.Contains(reply.Players(), wire.Untrusted(t.c.name)) {
		return t.fail("the name "+t.c.name+" among the players", said(reply))
	}
	return t.plausible(after, reply)
}

// dedicated is the name that the stock host puts before those of the players if nobody plays at
// the host itself.
const dedicated = "Dedicated Server"

// plausible reports a number of players that does not fit the suite's clients in the game and
// the names of the others.
func (t *T) plausible(n int, reply *gamespy.Reply) error {
	list := reply.Players()
	for i := range list {
		if _, ok := reply.Get(fmt.Sprintf("player_%d", i)); !ok {
			return t.fail(fmt.Sprintf("names from player_0 to player_%d", len(list)-1), said(reply))
		}
	}
	own := 0
	for _, c := range t.r.clients {
		if i := slices.Index(list, wire.Untrusted(c.name)); c.plays() && i >= 0 {
			list = slices.Delete(slices.Clone(list), i, i+1)
			own++
		}
	}
	others := len(slices.DeleteFunc(slices.Clone(list), func(name wire.Untrusted) bool { return name == dedicated }))
	switch {
	case n < own:
		return t.fail(fmt.Sprintf("numplayers of at least %d, the clients in the game", own), said(reply))
	case n > own+others:
		return t.fail(fmt.Sprintf("numplayers of at most %d: %d of the suite's clients, and %d other names", own+others, own, others), said(reply))
	}
	return nil
}

func longReply(t *T) error {
	reply := t.reply
	t.wait(betweenAll) // more may come
	for _, c := range t.opened {
		for _, d := range c.texts {
			if len(d) > gamespy.MaxReply+20 {
				return t.proves("datagrams of at most 1,369 bytes", fmt.Sprintf("%d bytes", len(d)))
			}
			m := gamespy.Parse(d)
			id, _ := m.Get("queryid")
			_, part, _ := strings.Cut(id.Raw(), ".")
			if _, final := m.Get("final"); final != (part == strconv.Itoa(reply.Parts())) {
				return t.fail(`\final\ in the last part alone`, string(d))
			}
		}
	}
	if reply.Parts() == 1 {
		return unseen("the reply fits into one datagram")
	}
	return nil
}

func queryNumbers(t *T) error {
	last := 0
	for range 3 {
		opened := len(t.opened)
		reply, err := t.query(`\basic\`)
		if err != nil {
			return err
		}
		id, _ := reply.Get("queryid")
		n, part, _ := strings.Cut(id.Raw(), ".")
		number, err := strconv.Atoi(n)
		if err != nil || part != "1" {
			return t.proves("queryid N.1", said(reply))
		}
		// A query that was repeated, by us or the network, may have been answered twice.
		repeated := len(t.opened) > opened && len(t.shown) > len(t.opened)
		switch want := fmt.Sprintf("queryid %d.1", last+1); {
		case last == 0:
		case number <= last:
			return t.proves(want, said(reply))
		case number != last+1 && !repeated:
			return t.fail(want, said(reply))
		}
		last = number
	}
	return nil
}
