package suite

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/bcdissect/bcdissect/decode/gamespy"
	"github.com/bcdissect/bcdissect/decode/wire"
)

// The keys of a reply to each query.
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

// keysOf returns the keys of a reply in order.
func keysOf(r *gamespy.Reply) (keys []string) {
	for k := range r.Pairs() {
		keys = append(keys, k.Raw())
	}
	return keys
}

// said returns a reply as text.
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

func statusQuery(t *T) {
	reply := t.reply
	keys := keysOf(reply)
	want := slices.Concat(basicKeys, infoKeys, ruleKeys)
	got := slices.DeleteFunc(slices.Clone(keys), func(k string) bool { return k == "queryid" || k == "final" || isPlayer(k) })
	t.expect(slices.Equal(got, want), "the keys "+strings.Join(want, ", "), said(reply))
	t.expect(len(keys) >= 2 && keys[len(keys)-1] == "queryid" && keys[len(keys)-2] == "final", `\final\ and \queryid\N.M at the end`, said(reply))
	for _, want := range [][2]string{{"gamename", "bcommander"}, {"gamever", "60"}, {"final", ""}} {
		got, _ := reply.Get(want[0])
		t.expect(got.Raw() == want[1], fmt.Sprintf("%s to be %q", want[0], want[1]), said(reply))
	}
	for i := range t.opened {
		for _, d := range t.opened[i].texts {
			t.expect(!strings.HasSuffix(string(d), `\`), "no backslash at the end", string(d))
		}
	}
}

func partQueries(t *T) {
	for _, q := range []struct {
		word string
		keys []string
	}{{"basic", basicKeys}, {"info", infoKeys}, {"rules", ruleKeys}, {"players", nil}} {
		reply := must(t.query(`\` + q.word + `\`))
		got := slices.DeleteFunc(keysOf(reply), func(k string) bool {
			return k == "queryid" || k == "final" || q.keys == nil && isPlayer(k)
		})
		slices.Sort(got)
		want := slices.Sorted(slices.Values(q.keys))
		t.prove(slices.Equal(got, want), fmt.Sprintf(`the keys %s in the reply to \%s\`, strings.Join(q.keys, ", "), q.word), said(reply))
	}
}

func combinedQueries(t *T) {
	for _, k := range slices.Concat(basicKeys, ruleKeys) {
		_, ok := t.reply.Get(k)
		t.prove(ok, "the keys of both queries", said(t.reply))
	}
	reply := must(t.query(`\echo\conform`))
	got, _ := reply.Get("echo")
	t.prove(got == "conform", `\echo\conform`, said(reply))
}

func secureQuery(t *T) {
	keys := keysOf(t.reply)
	got, _ := t.reply.Get("validate")
	t.prove(got == "hMwdTNWS" && slices.Index(keys, "validate") <= slices.Index(keys, "final"), `\validate\hMwdTNWS before \final\`, said(t.reply))
}

// counted returns the number of players that the host reports.
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

// counts stores how many players there are before the clients of the case join.
func (t *T) counts() (err error) {
	t.before, _, err = t.counted()
	return err
}

// number returns the number of a key in a reply.
func number(reply *gamespy.Reply, key string) (n int, ok bool) {
	text, _ := reply.Get(key)
	n, err := strconv.Atoi(text.Raw())
	return n, err == nil
}

func queryInGame(t *T) {
	after, reply, err := t.counted()
	t.expect(err == nil, "an answer while a client plays")
	t.expect(after == t.before+1, fmt.Sprintf("numplayers %d, one more than before the join", t.before+1), said(reply))
	t.expect(slices.Contains(reply.Players(), wire.Untrusted(t.c.name)), "the name "+t.c.name+" among the players", said(reply))
	t.plausible(after, reply)
}

// dedicated is the name that the stock host lists first if the host has no
// player.
const dedicated = "Dedicated Server"

// plausible reports a number of players that contradicts the suite's clients in
// the game and the names of the others.
func (t *T) plausible(n int, reply *gamespy.Reply) {
	list := reply.Players()
	for i := range list {
		_, ok := reply.Get(fmt.Sprintf("player_%d", i))
		t.expect(ok, fmt.Sprintf("names from player_0 to player_%d", len(list)-1), said(reply))
	}
	own := 0
	for _, c := range t.r.clients {
		if i := slices.Index(list, wire.Untrusted(c.name)); c.plays() && i >= 0 {
			list = slices.Delete(slices.Clone(list), i, i+1)
			own++
		}
	}
	others := len(slices.DeleteFunc(slices.Clone(list), func(name wire.Untrusted) bool { return name == dedicated }))
	t.expect(n >= own, fmt.Sprintf("numplayers of at least %d, the clients in the game", own), said(reply))
	t.expect(n <= own+others, fmt.Sprintf("numplayers of at most %d: %d of the suite's clients, and %d other names", own+others, own, others), said(reply))
}

func longReply(t *T) {
	reply := t.reply
	t.wait(betweenAll) // more may come
	for _, c := range t.opened {
		for _, d := range c.texts {
			t.prove(len(d) <= gamespy.MaxReply+20, "datagrams of at most 1,369 bytes", fmt.Sprintf("%d bytes", len(d)))
			m := gamespy.Parse(d)
			id, _ := m.Get("queryid")
			_, part, _ := strings.Cut(id.Raw(), ".")
			_, final := m.Get("final")
			t.expect(final == (part == strconv.Itoa(reply.Parts())), `\final\ only in the last part`, string(d))
		}
	}
	happened(reply.Parts() > 1, "the reply fits into one datagram")
}

func queryNumbers(t *T) {
	last := 0
	for range 3 {
		opened := len(t.opened)
		reply := must(t.query(`\basic\`))
		id, _ := reply.Get("queryid")
		n, part, _ := strings.Cut(id.Raw(), ".")
		number, err := strconv.Atoi(n)
		t.prove(err == nil && part == "1", "queryid N.1", said(reply))
		// A query that the suite or the network repeated may have been answered
		// twice.
		repeated := len(t.opened) > opened && len(t.shown) > len(t.opened)
		switch want := fmt.Sprintf("queryid %d.1", last+1); {
		case last == 0:
		case number <= last:
			t.prove(false, want, said(reply))
		case number != last+1 && !repeated:
			t.fails(false, want, said(reply))
		}
		last = number
	}
}
