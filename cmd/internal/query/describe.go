package query

import (
	"strconv"

	"github.com/bcdissect/bcdissect/cmd/internal/cli"
	"github.com/bcdissect/bcdissect/decode/wire"
	"github.com/bcdissect/bcdissect/report/ndjson"
)

// Describe prepares a result for reports.
func Describe(r *Result) ndjson.Server {
	a := ndjson.Server{Host: r.Host, RoundTrip: float64(r.RoundTrip.Microseconds()) / 1e3, Queries: r.Queries}
	if r.Addr.IsValid() {
		a.Addr = r.Addr.String()
	}
	if r.Err != nil {
		a.Error = cli.OneLine(r.Err.Error())
	}
	text := func(key string) *wire.Untrusted {
		if v, ok := r.Reply.Get(key); ok {
			return &v
		}
		return nil
	}
	number := func(key string) *int {
		v, _ := r.Reply.Get(key)
		if n, err := strconv.Atoi(v.Raw()); err == nil {
			return &n
		}
		return nil
	}
	a.Name, a.Version, a.Mission, a.Map, a.State = text("hostname"), text("gamever"), text("missionscript"), text("mapname"), text("gamemode")
	count := func(key string) *int {
		if n := number(key); n != nil && *n >= 0 {
			return n
		}
		return nil
	}
	a.Players, a.Limit, a.TimeLimit, a.FragLimit = count("numplayers"), count("maxplayers"), number("timelimit"), number("fraglimit")
	a.System = text("system")
	if n := number("password"); n != nil && (*n == 0 || *n == 1) {
		locked := *n == 1
		a.Password = &locked
	}
	a.PlayerNames = r.Reply.Players()
	for k, v := range r.Reply.Pairs() {
		if k == "final" || k == "queryid" {
			continue // the key belongs to the datagram, not to the game
		}
		if a.GameSpy == nil {
			a.GameSpy = map[wire.Untrusted]wire.Untrusted{}
		}
		name := k
		for n := 2; ; n++ {
			if _, again := a.GameSpy[name]; !again {
				break
			}
			name = k + "_" + wire.Untrusted(strconv.Itoa(n))
		}
		a.GameSpy[name] = v
	}
	a.Complete = r.Reply.Complete()
	return a
}
