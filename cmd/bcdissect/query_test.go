package main

import (
	"errors"
	"strings"
	"testing"

	"github.com/bcdissect/bcdissect/cmd/internal/query"
	"github.com/bcdissect/bcdissect/report/ndjson"
)

func TestServers(t *testing.T) {
	// The first answer is from the original game's host in docs/protocol.md.
	// The second is hostile.
	full := query.Result{Host: "localhost:22101", RoundTrip: 1234567, Queries: 1}
	full.Reply.Add([]byte(`\gamename\bcommander\gamever\60\location\1\hostname\My Game23` +
		`\missionscript\Multiplayer.Episode.Mission1.Mission1\mapname\DM\numplayers\0\maxplayers\8` +
		`\gamemode\openplaying\timelimit\-1\fraglimit\-2\system\Multi1\password\0` +
		`\player_0\Dedicated Server\final\\queryid\2.1`))
	odd := query.Result{Host: "b:1", Queries: 3, Err: errors.New("b:1: the answer is incomplete")}
	odd.Reply.Add([]byte("\\hostname\\\x1b[2J\\numplayers\\many\\password\\2\\hostname\\again\\player_0\\a\nb\\queryid\\1.1"))
	none := query.Result{Host: "c:1", Queries: 3, Err: errors.New("c:1: no answer")}
	list := []ndjson.Server{query.Describe(&full), query.Describe(&odd), query.Describe(&none)}
	var out strings.Builder
	if err := drawServers(&out, list); err != nil {
		t.Fatal(err)
	}
	const table = `
server           round trip  name       map  system  state        players  names
localhost:22101  1.2 ms      My Game23  DM   Multi1  openplaying  0 of 8   Dedicated Server
b:1              0.0 ms      ?[2J       ?    ?       ?            ? of ?   a b
`
	if got := "\n" + out.String(); got != table {
		t.Errorf("got %s", got)
	}
	out.Reset()
	if err := ndjson.Write(&out, list...); err != nil {
		t.Fatal(err)
	}
	const lines = `{"host":"localhost:22101","round_trip_ms":1.234,"queries":1,"name":"My Game23","version":"60","mission":"Multiplayer.Episode.Mission1.Mission1","map":"DM","state":"openplaying","players":0,"player_limit":8,"time_limit":-1,"frag_limit":-2,"system":"Multi1","password":false,"player_names":["Dedicated Server"],"gamespy":{"fraglimit":"-2","gamemode":"openplaying","gamename":"bcommander","gamever":"60","hostname":"My Game23","location":"1","mapname":"DM","maxplayers":"8","missionscript":"Multiplayer.Episode.Mission1.Mission1","numplayers":"0","password":"0","player_0":"Dedicated Server","system":"Multi1","timelimit":"-1"},"complete":true}
{"host":"b:1","queries":3,"name":"\u001b[2J","player_names":["a\nb"],"gamespy":{"hostname":"\u001b[2J","hostname_2":"again","numplayers":"many","password":"2","player_0":"a\nb"},"error":"b:1: the answer is incomplete"}
{"host":"c:1","queries":3,"error":"c:1: no answer"}
`
	if got := out.String(); got != lines {
		t.Errorf("got %s", got)
	}
}
