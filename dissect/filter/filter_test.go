package filter

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/bcdissect/bcdissect/decode"
	"github.com/bcdissect/bcdissect/decode/gamespy"
	"github.com/bcdissect/bcdissect/decode/msg"
	"github.com/bcdissect/bcdissect/decode/ship"
	"github.com/bcdissect/bcdissect/decode/wire"
	"github.com/bcdissect/bcdissect/dissect"
	"github.com/bcdissect/bcdissect/dissect/transport"
	"github.com/bcdissect/bcdissect/fixtures"
)

// chat returns a chat line of player 2.
func chat(text string) []byte {
	return append([]byte{0x2C, 2, 0, 0, 0, byte(len(text)), 0}, text...)
}

// records returns the records of TestMatch.
func records(tb testing.TB) map[string]*dissect.Record {
	tb.Helper()
	all := map[string]*dissect.Record{
		"torpedo":   sample(tb, "19-target"), // at 0x4003FFFF, flags 0x01
		"no target": sample(tb, "19-no-target"),
		"chat":      game(tb, chat("big lag here"), decode.Stock, nil),
		"caf\u00e9": game(tb, chat("caf\xe9 \x80 5 \"quoted\" \\"), decode.Stock, nil),
		"own":       game(tb, fixtures.Unhex(tb, "1cffffff3f0080e1419d0000b042000084c2000092c22137fb0b684630bb5e000001cc02cc04cc"), decode.Stock, oneClass{ship.BySpecies(1)}),
		"other":     game(tb, fixtures.Unhex(tb, "1cffff0340000026423d0000c8420000a0c10000b04066007f0000007f544902ff64f0c080e0ff7f7d"), decode.Stock, oneClass{ship.BySpecies(1)}),
		"unread":    game(tb, fixtures.Unhex(tb, "1cffff034000002642200a"), decode.Stock, oneClass{}),
		"nan":       game(tb, fixtures.Unhex(tb, "1cffffff3f0000c07f00"), decode.Stock, oneClass{}),
		"end":       sample(tb, "38-end-game"),
		"create":    sample(tb, "03-akira"),
		"level":     sample(tb, "12-low"),
		"contacts":  sample(tb, "15-two-contacts"),
		"tree":      sample(tb, "21-three-deep"),
		"switched":  sample(tb, "0a-off"),
		"short":     game(tb, fixtures.Unhex(tb, "1f0000044006000000"), decode.Stock, nil),
		"trailing":  game(tb, append(chat("x"), "Multi1"...), decode.Stock, nil),
		"mod":       game(tb, []byte{0xCD, 1, 2, 3}, decode.Stock, nil),
		"ack":       control(tb, 0x01, 0x05, 0x00, 0x03, 0x07),
		"boot":      control(tb, 0x04, 0x07, 0xC0, 0x02, 0x00, 0x04, 0x02),
		"name":      control(tb, fixtures.Unhex(tb, "00 16 c0 01 00 02 7f000001 4300 6100 6400 7900 3200 0000")...),
		"keepalive": control(tb, 0x02),
		"gamespy": {
			Datagram: datagram(), Kind: dissect.KindGameSpy, Dir: dissect.ToHost, Bytes: []byte(`\status\`),
			GameSpy: gamespy.Parse([]byte(`\status\`)),
		},
		"malformed": {
			Datagram: datagram(), Kind: dissect.KindMalformed, Peer: 3, Offset: 2, Bytes: []byte{1, 2, 3},
			Status: dissect.StatusMalformed, Err: fmt.Errorf("%w 0x77", transport.ErrType),
			Notes: []dissect.Note{{Code: "cut", Text: "a part of it"}, {Code: "dialect", Text: "the client writes openbc"}},
		},
		"pending": {
			Datagram: datagram(), Bytes: make([]byte, 412), Status: dissect.StatusPending, Peer: 3,
			Transport: transport.Header{Type: transport.Standard, Len: 412, Reliable: true, HasSeq: true, Seq: 2, Fragment: true, Count: 3},
		},
		"evicted": {
			Datagram: &dissect.Datagram{Number: 9, Src: client, Dst: host}, Kind: dissect.KindEvicted, Status: dissect.StatusPending, Err: dissect.ErrEvicted,
			Transport: transport.Header{Type: transport.Standard, HasSeq: true, Seq: 9, Fragment: true},
		},
		"payload": {Kind: dissect.KindPayload, Bytes: []byte{0x01}, Payload: []byte{0x01}, Spec: stock.Lookup(1)},
		"bare":    {},
	}
	all["joined"] = sample(tb, "2c-chat")
	all["joined"].Pieces = []int{15, 16, 17}
	all["openbc"] = sample(tb, "07-openbc")
	return all
}

func TestMatch(t *testing.T) {
	all := records(t)
	for _, tt := range []struct {
		expr string
		want string // names of the matching records, in order
	}{
		// The examples of the help.
		{`name == TorpedoFire and fields.target == 0x4003FFFF`, "torpedo"},
		{`StateUpdate.speed > 5`, "other"},
		{`flags & 0x20`, "other, unread"},
		{`opcode in {0x07..0x0C, 0x19}`, "no target, openbc, switched, torpedo"},
		{`chat.text contains "lag"`, "chat"},
		{`src == 10.0.0.5 and kind == gamespy`, "gamespy"},
		{`peer == 3 and kind != standard`, "malformed"},

		// Messages.
		{`TorpedoFire`, "no target, torpedo"},
		{`torpedofire`, "no target, torpedo"},
		{`CREATE_TORP`, "no target, torpedo"},
		{`create_torp.target`, "torpedo"},
		{`name == CREATE_TORP`, "no target, torpedo"},
		{`name == "TorpedoFire"`, "no target, torpedo"},
		{`name == ObjCreateTeam`, "create"},
		{`name in {SubsysStatus, Chat} and not status`, "caf\u00e9, chat, joined, switched"},
		{`name contains "Torp" or name ~ "^Chat$"`, "caf\u00e9, chat, joined, no target, torpedo, trailing"},
		{`name matches "^(?i)TORP"`, "no target, torpedo"},
		{`name != Chat and opcode > 0x20`, "end, mod, tree"},
		{`Script`, "mod"},
		{`opcode == TorpedoFire`, "no target, torpedo"},
		{`opcode & 0x80`, "mod"},
		{`BootPlayer`, "boot"},
		{`Connect or NameChange`, "name"},

		// Wireshark's names and sets.
		{`ip.src == 10.0.0.5 and frame.number == 12 and kind == gamespy`, "gamespy"},
		{`bc.kind == gamespy`, "gamespy"},
		{`bc.StateUpdate.speed > 5 and upper(bc.name) == STATEUPDATE`, "other"},
		{`bc and kind == gamespy or not bc`, "gamespy"},
		{`ip.addr == 192.168.0.1 and udp.port == 22102 and kind == gamespy`, "gamespy"},
		{`udp.srcport == 22101 or udp.dstport == 22102 or ip.dst == 10.0.0.5`, "ack, boot, keepalive, name"},
		{`frame.time_relative == 13.5 and frame.time > 2002-03-01 and kind in {gamespy malformed}`, "gamespy, malformed"},
		{`opcode in {0x07..0x0C 0x19}`, "no target, openbc, switched, torpedo"},
		{`frame.len > 0`, ""}, // nothing here comes from a frame

		// Slices and case.
		{`text[0:3] == "big"`, "chat"},
		{`text[:3] == big`, "chat"},
		{`text[4-6] in {"log" "lag"}`, "chat"},
		{`text[3] == "é"`, "caf\u00e9"},
		{`text[-4:] == here`, "chat"},
		{`text[8:100] contains "ere"`, "chat"},
		{`text[20:] matches ".*"`, ""}, // all are shorter
		{`text[3:2] != "é " and text contains "lag"`, "chat"},
		{`not text[20:] == "a" and Chat`, "caf\u00e9, chat, joined, trailing"},
		{`payload[1:4] == 02:00:00:00 and text ~ lag`, "chat"},
		{`payload[-4:] == "here"`, "chat"},
		{`upper(text) == "BIG LAG HERE"`, "chat"},
		{`upper(text) contains "CAFÉ"`, "caf\u00e9"},
		{`upper(text[4:3]) == "LAG"`, "chat"},
		{`lower(name) == "endgame"`, "end"},
		{`upper(kind[0:2]) == "GA"`, "gamespy"},
		{`upper(error.reason[-4:]) == "0X77"`, "malformed"},

		// Presence.
		{`target`, "torpedo"},
		{`fields and not target and type != 50`, "boot, name"},
		{`subsystems.entries`, "other"},
		{`target_offset`, "torpedo"},
		{`cloaked`, ""},
		{`status`, "evicted, malformed, pending, short, trailing, unread"},
		{`reliable and not opcode`, "boot, name, pending"},
		{`priority`, "boot, name"},
		{`residue`, "malformed, short, trailing"},
		{`error`, "evicted, malformed, short, unread"},
		{`notes`, "malformed"},
		{`ts and not rel`, ""},
		{`not ts`, "bare, evicted, payload"},
		{`not kind`, "bare, payload"},
		{`fragment or reassembled`, "joined, pending"},
		{`ack`, "ack"},
		{`dialect`, "openbc"},
		{`player and opcode == 0xCD`, "mod"},
		{`payload and not msg`, "payload"},

		// Keys.
		{`frame == 9`, "evicted"},
		{`msg == 1 and opcode == 0xCD`, "mod"},
		{`type == 1 or len == 1`, "ack, keepalive"},
		{`len in {412, 8}`, "gamespy, pending"},
		{`seq == 2 and kind == standard`, "pending"},
		{`seq == 9`, "evicted"},
		{`ack.seq == 5 and ack.kind == control and ack.index == 7`, "ack"},
		{`ack.kind == data`, ""},
		{`fragment.index == 0 and fragment.count == 3`, "pending"},
		{`reassembled == 16`, "joined"},
		{`reassembled != 16`, ""},
		{`reassembled != 18`, "joined"},
		{`reassembled === 16 or reassembled !== 16`, "joined"},
		{`dialect == stock and kind == standard and opcode == 7`, ""},
		{`dialect == openbc`, "openbc"},
		{`dir == s2c`, "ack, boot, keepalive, name"},
		{`dir == unknown and kind == malformed`, "malformed"},
		{`kind in {ack, keepalive, "name_change", boot}`, "ack, boot, keepalive, name"},
		{`kind contains "mal" or kind matches "^ev"`, "evicted, malformed"},
		{`kind == type_06`, ""},
		{`status == pending or status == unresolved`, "evicted, pending, unread"},
		{`status != ok`, "evicted, malformed, pending, short, trailing, unread"},
		{`reliable == false`, "ack, keepalive"},
		{`reliable == 0`, "ack, keepalive"},
		{`error.reason contains "ends inside"`, "short"},
		{`error.reason matches "type 0x77$"`, "malformed"},
		{`error.reason == "unknown transport type 0x77"`, "malformed"},
		{`error.field == set`, "short"},
		{`error.field != set`, "unread"},
		{`error.offset == 2`, "malformed"},
		{`notes contains "part of"`, "malformed"},
		{`notes contains "dialect"`, "malformed"},
		{`note == dialect and note != "seq-gap" and notes.code == cut`, "malformed"},
		{`note != dialect`, ""},
		{`notes.text ~ "^the client"`, "malformed"},
		{`residue contains "Multi1"`, "trailing"},
		{`residue == 0x4d756c746931 or residue == 01:02:03`, "malformed, trailing"},
		{`residue[0] == 0x4d and len(residue) == 6`, "trailing"},
		{`payload[1] & 0x02 and payload matches "^\xCD|,\x02"`, "caf\u00e9, chat, trailing"},
		{`len(player_name) == 5 and Script`, "mod"},
		{`len(player_name) & 4 and Script`, "mod"},
		{`body[0] & 1 and body[1] & 2`, "mod"},
		{`body[3]`, ""},
		{`payload contains "é €"`, "caf\u00e9"},
		{`player == Cady2 and Script`, "mod"},
		{`player == "Cady2" and Script`, "mod"},
		{`player == 1 and conversation == 4 and Script`, "mod"},
		{`player in {7, "Kirk", Cady2} and Script`, "mod"},
		{`player != Cady2 and Script`, ""},
		{`player != Kirk and Script`, "mod"},
		{`player == "1" and Script`, ""},
		{`player_name == Cady2 and Script`, "mod"},
		{`player & 1 and Script`, "mod"},

		// Addresses and times.
		{`src == 192.168.0.1 or dst == 10.0.0.5`, "ack, boot, keepalive, name"},
		{`addr == 10.0.0.5 and kind in {ack, gamespy}`, "ack, gamespy"},
		{`addr != 10.0.0.5 and kind == ack`, ""},
		{`addr !== 10.0.0.5 and kind == ack`, "ack"},
		{`src == 192.168.0.0/16`, "ack, boot, keepalive, name"},
		{`src == 192.168.0.1:22101`, "ack, boot, keepalive, name"},
		{`src == "192.168.0.1:22102"`, ""},
		{`src == 192.168.0.1:0`, ""},
		{`src == [::1] or src == [::1]:22109`, ""},
		{`src in {192.168.0.0..192.168.0.3, 1.2.3.4}`, "ack, boot, keepalive, name"},
		{`src != 10.0.0.0/8`, "ack, boot, keepalive, name"},
		{`src == [::1]:22101 or src == ::1 or src == [::1] or src == fe80::/10`, ""},
		{`port == 22102 and src_port == 22101 and dst_port != 22101`, "ack, boot, keepalive, name"},
		{`port in {1..22101} and kind == ack`, "ack"},
		{`rel > 12.5 and rel < 13.500001 and kind == ack`, "ack"},
		{`rel == 13.5 and rel in {1..20, 1h} and kind == ack`, "ack"},
		{`rel > 13.5 or rel >= 1m`, ""},
		{`rel in {13.5..13.5} and kind == ack`, "ack"},
		{`rel < 2e1 and rel < 1e+9 and kind == ack`, "ack"},
		{`rel < "-2562047h47m16.854775808s" or rel > 2562047h47m16.854775807s`, ""}, // the limits of 64 bits
		{`ts >= "2002-03-01T20:00:00Z" and kind == ack`, "ack"},
		{`ts == 2002-03-01T21:00:13.5+01:00 and kind == ack`, "ack"},
		{`ts < "2002-03-01 20:00:13.5"`, ""},
		{`ts in {2002-03-01..2002-03-02} and ts != 2002-03-01 and kind == ack`, "ack"},

		// Numbers.
		{`speed == 6.2483525`, "other"},
		{`speed != 6.2483525`, "own"},
		{`speed <= 0`, "own"},
		{`speed > .0 and speed > .9`, "other"},
		{`position.y < -.5 and position.z > +.5`, "other"},
		{`opcode in {0x38..0x38}`, "end"},
		{`5 < speed`, "other"},
		{`position.y < -1e1 and position.z > +5`, "other"},
		{`position[1] == -20`, "other"},
		{`forward[0] == 0.08661418`, "own"},
		{`orientation.w > 0.8`, "create"},
		{`game_time == NaN`, "nan"},
		{`game_time != NaN and flags == 0x3D`, "other"},
		{`game_time < 1e9 or game_time > -1e9`, "other, own, unread"},
		{`not game_time > 0 and StateUpdate`, "nan"},
		{`flags == 157`, "own"},
		{`flags in {0..0x3D}`, "nan, no target, other, torpedo, unread"},
		{`(flags & 0x21) == 0x21`, "other"},
		{`flags & 0x21 == 0x20`, "unread"},
		{`(flags) & 0x21 & 0x20`, "other, unread"},
		{`flags & 0x21 != 0 and TorpedoFire`, "no target, torpedo"},
		{`flags & SUBSYSTEMS`, "other, unread"},
		{`flags & "SUBSYSTEMS"`, "other, unread"},
		{`flags & POSITION`, "other, own"},
		{`flags & 0`, ""},
		{`flags & 0xFFFFFFFF and TorpedoFire`, "no target, torpedo"},
		{`flags & power == POWER`, "own"},
		{`flags & no_target`, "no target"},
		{`not flags & no_target and flags`, "nan, other, own, torpedo, unread"},
		{`flag_names == "CLOAK"`, ""},
		{`flag_names == SUBSYSTEMS and flag_names != CLOAK`, "other, unread"},
		{`flag_names contains "SUBSYS"`, "other, unread"},
		{`flag_names === SUBSYSTEMS`, "unread"},
		{`object_id == 0x3FFFFFFF`, "create, nan, own"},
		{`object_slot == 1`, "openbc, other, short, unread"},
		{`target_slot < 2`, "torpedo"},
		{`has_hash == true`, "own"},
		{`has_hash == false or has_hash == 2`, "other"},
		{`enabled == false`, "switched"},
		{`enabled != true`, "switched"},
		{`ip == 127.0.0.1`, "name"},
		{`ip == 127.0.0.0/8 and ip != 10.0.0.1`, "name"},
		{`id == 2`, "boot, name"},

		// Names of values.
		{`reason == "frag limit reached"`, "end"},
		{`reason == FRAG_LIMIT_REACHED`, "end"},
		{`reason == "kicked by the server"`, "boot"},
		{`reason != "kicked by the server"`, "end"},
		{`reason_name contains "kick"`, "boot"},
		{`reason == 4`, "boot"},
		{`species == Akira`, "create"},
		{`species == disruptor`, ""}, // the torpedo with the same number as the Akira
		{`species in {akira, "Bird of Prey", 40..50}`, "create"},
		{`species_name == "Akira"`, "create"},
		{`species_name == "akira"`, ""},
		{`class == ship`, "create"},
		{`class == TGCharEvent and value == low`, "level"},
		{`value_name == low`, "level"},
		{`snapshot.level == medium`, "create"},
		{`code == STOP_FIRING_NOTIFY or code == set_phaser_level`, "level"},
		{`trees.trees.files.name_hash_name ~ "pyc$"`, "tree"},

		// Lists.
		{`subsystems.entries.condition < 0.95`, "other"},
		{`subsystems.entries.condition == 0.9411765`, "other"},
		{`subsystems.entries.condition != 0.9411765`, ""},
		{`subsystems.entries.condition != 0.5`, "other"},
		{`subsystems.entries.condition > 0.5`, "other"},
		{`subsystems.entries.condition === 1`, ""},
		{`subsystems.entries.children < 0.5`, "other"},
		{`subsystems.entries.children[1] == 0.49803922`, "other"},
		{`subsystems.entries.children[2]`, ""},
		{`len(subsystems.entries) == 3`, "other"},
		{`len(subsystems.entries.children) == 2`, "other"},
		{`subsystems.entries.name == "Warp Core" and subsystems.entries.name contains "Array"`, "other"},
		{`StateUpdate.power_settings.percent == 100 and power_settings.index == 4`, "own"},
		{`len(contacts) == 2 and contacts_count == 2 and contacts.direction.x`, "contacts"},
		{`CollisionEffect.contacts.ratio > 0`, "contacts"},

		// Text.
		{`text == "big lag here"`, "chat"},
		{`text contains "LAG"`, ""},
		{`text matches "(?i)LAG"`, "chat"},
		{`text ~ "^b\w+ l"`, "chat"},
		{`text contains "caf\u00e9 \u20AC"`, "caf\u00e9"},
		{`text contains "é €"`, "caf\u00e9"},
		{`text matches "é . 5"`, "caf\u00e9"},
		{`text contains "\"quoted\" \\"`, "caf\u00e9"},
		{`text contains '"quoted"'`, "caf\u00e9"},
		{`text ~ "\"q"`, "caf\u00e9"},
		{`text contains ""`, "caf\u00e9, chat, joined, trailing"},
		{`text in {"x", "big lag here"}`, "chat, trailing"},
		{`text not in {"x", "big lag here"} and text`, "caf\u00e9, joined"},
		{`text == x`, "trailing"},
		{`text == x or text == é or text == a.b`, "trailing"},
		{`text CONTAINS "lag"`, "chat"},
		{`len(text) == 12 or len(text) == 1`, "chat, trailing"},
		{`len(text) == 19`, "caf\u00e9"},
		{`fields.name == "Cady2"`, "create, name"},
		{`NameChange.name == Cady2 and len(NameChange.name) == 5`, "name"},
		{`ship == Akira`, "create, other, own"},
		{`body == 010203 and body[2] == 3 and body contains 02:03`, "mod"},
		{`body contains "\x02\x03" and len(body) > 2`, "mod"},

		// Joins.
		{`not not ack`, "ack"},
		{`!ack && !fields && !gamespy && !status && kind`, "keepalive"},
		{`ack or BootPlayer and Chat`, "ack"},
		{`(ack or Chat) and not reliable`, "ack"},
		{`ack xor kind == ack xor kind == boot`, "boot"},
		{`ack ^^ kind == boot`, "ack, boot"},
		{`NOT opcode AND kind EQ standard`, "pending"},
		{`opcode eq 0xcd or opcode lt 1 or opcode gt 0xcd`, "mod"},
		{`opcode le 1 or opcode ge 0xcd or opcode ne opcode_`, "!"},
		{`speed any_eq 0 or speed all_eq 6.2483525`, "other, own"},
	} {
		t.Run(tt.expr, func(t *testing.T) {
			if tt.want == "!" {
				if _, err := compile(tt.expr, shared); err == nil {
					t.Fatal("got no error")
				}
				return
			}
			f := must(t, tt.expr)
			var got []string
			for name, r := range all {
				if f.Match(r) {
					got = append(got, name)
				}
			}
			slices.Sort(got)
			if g := strings.Join(got, ", "); g != tt.want {
				t.Errorf("got  %s\nwant %s", g, tt.want)
			}
		})
	}
}

func TestStart(t *testing.T) {
	f := must(t, `rel == 2`)
	f.Start = time.Time{}
	r, late := sample(t, "2c-chat"), sample(t, "2c-chat")
	late.Datagram.Time = late.Datagram.Time.Add(2 * time.Second)
	if f.Match(r) || !f.Match(late) {
		t.Error("rel does not count from the first record")
	}
	f.Start = late.Datagram.Time.Add(-3 * time.Second)
	if f.Match(late) {
		t.Error("rel does not count from Start")
	}
}

// TestNames checks that all described names compile, and that all names of a
// message stand for that message.
func TestNames(t *testing.T) {
	all := Names(nil)
	if !slices.IsSorted(all) || len(slices.Compact(slices.Clone(all))) != len(all) {
		t.Error("not sorted, or not unique")
	}
	for _, name := range []string{
		"frame", "name", "src_port", "error.reason", "TorpedoFire", "Connect", "target", "fields.name", "Score.player",
		"StateUpdate.subsystems.entries.condition", "TorpedoFire.target_offset.ratio", "position.x", "species_name", "flag_names", "object_slot", "contacts_count",
	} {
		if !slices.Contains(all, name) {
			t.Errorf("no %s", name)
		}
	}
	for _, name := range all {
		if _, err := compile(name, shared); err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
	for path := range shared.paths {
		for _, expr := range []string{"fields." + path, "not " + path} {
			if _, err := compile(expr, shared); err != nil {
				t.Errorf("%s: %v", expr, err)
			}
		}
	}
	for _, s := range stock.All() {
		for _, name := range s.Names() {
			for _, n := range []string{name, strings.ToLower(name), strings.ToUpper(name)} {
				if got := specsOf(shared.specs[:shared.game], n); len(got) != 1 || got[0] != s && n == name {
					t.Errorf("%s: got %d messages, the first %v, want %s", n, len(got), got[0].Name, s.Name)
				}
			}
		}
	}
}

// TestCatalog checks that a filter uses its catalogue.
func TestCatalog(t *testing.T) {
	c := decode.NewCatalog(stock.Lookup(0x2C))
	if _, err := Compile(`TorpedoFire`, c); err == nil {
		t.Error("a message that is not in the catalogue compiles")
	}
	f, err := Compile(`name == Chat and text contains "lag"`, c)
	if err != nil {
		t.Fatal(err)
	}
	all := records(t)
	if !f.Match(all["chat"]) || f.Match(all["torpedo"]) {
		t.Error("got the wrong records")
	}
	var e *Error
	if _, err := Compile(`nme == Chat`, nil); !errors.As(err, &e) || e.Column != 1 {
		t.Errorf("got %v", err)
	}
}

// TestAllocations checks that no match allocates.
func TestAllocations(t *testing.T) {
	all := records(t)
	for _, expr := range append([]string{
		`name == TorpedoFire and fields.target == 0x4003FFFF`,
		`text contains "é" or text matches "(?i)l.g" or text in {"a", "b"} or fields.name == "Bob"`,
		`error.reason contains "x" or notes contains "x" or player == y or error.field == z or len(error.reason) == 1`,
		`src == 10.0.0.0/8 and addr in {1.1.1.1..2.2.2.2} or port == 5 or ip == 1.2.3.4`,
		`subsystems.entries.condition == 0.5 or len(subsystems.entries) == 77 or subsystems.entries.name == x`,
		`species == Akira and flags & POWER or flag_names == "x" or species_name == x or object_name == x`,
		`kind == ack or ts > 2020-01-01 or rel > 5 or residue contains 00 or payload[3] == 9`,
		`upper(text[1:3]) == "IG" or text[1] == i or upper(name) == x or payload[1:2] == 00 or upper(error.reason) == x`,
		`files.name_hash_name == x or trees.files.name_hash_name == x`,
	}, Names(nil)...) {
		f := must(t, expr)
		match := func() {
			for _, r := range all {
				f.Match(r)
			}
		}
		match() // grow the buffers
		// The pool of package regexp is not always full: the race detector empties it
		// at random.
		n := testing.AllocsPerRun(1, match)
		for range 50 {
			n = min(n, testing.AllocsPerRun(1, match))
			if n == 0 {
				break
			}
		}
		if n != 0 {
			t.Errorf("%s: %v allocations", expr, n)
		}
	}
}

// TestMessageStays checks that matching does not change a message, so that
// later stages see all of it.
func TestMessageStays(t *testing.T) {
	r := records(t)["other"]
	f := must(t, `subsystems.entries.condition == 1 or object_id == 1 or speed == 1`)
	g := must(t, `object_id == 1`)
	for range 2 {
		f.Match(r)
		g.Match(r)
		m := r.Message.(*msg.StateUpdate)
		if len(m.Entries) != 3 || m.Speed.Float() < 6 || len(m.Entries[2].Children) != 2 {
			t.Errorf("got %+v", m)
		}
	}
}

func TestComplete(t *testing.T) {
	for _, tt := range []struct {
		expr  string
		first []string
	}{
		{"name == To", []string{"name == TorpedoFire", "name == TorpedoTypeChange"}},
		{"name == to", []string{"name == TorpedoFire", "name == TorpedoTypeChange"}},
		{"kind == k", []string{"kind == keepalive"}},
		{"TorpedoFire.ta", []string{"TorpedoFire.target", "TorpedoFire.target_name", "TorpedoFire.target_offset", "TorpedoFire.target_point", "TorpedoFire.target_slot"}},
		{"StateUpdate.subsystems.entries.co", []string{"StateUpdate.subsystems.entries.condition"}},
		{"species == Bi", []string{"species == Bird_of_Prey", "species == Biranu_Station"}},
		{"flags & SU", []string{"flags & SUBSYSTEMS"}},
		{"(flags & 0x21) == SU", []string{"(flags & 0x21) == SUBSYSTEMS"}},
		{"reason == time", []string{"reason == time_up", "reason == timed_out"}},
		{"cloaked == ", []string{"cloaked == true", "cloaked == false"}},
		{"opcode in {Chat, Torp", []string{"opcode in {Chat, TorpedoFire", "opcode in {Chat, TorpedoTypeChange"}},
		{"name == Chat and sp", []string{"name == Chat and species", "name == Chat and species_name", "name == Chat and speed"}},
		{"name == Chat ", []string{"name == Chat and", "name == Chat or"}},
		{"speed c", []string{"speed contains"}},
		{"kind == ack", []string{"kind == ack"}},
		{"text contains x ", []string{"text contains x and", "text contains x or"}},
		{"dir == s", []string{"dir == s2c"}},
		{"reliable == ", []string{"reliable == true", "reliable == false"}},
		{"contains ", []string{"contains =="}},
		{strings.Repeat(" ", maxExpr-2) + "up", []string{strings.Repeat(" ", maxExpr-2) + "up"}},
		{strings.Repeat(" ", maxExpr-1) + "up", nil},
		{"1, ", []string{"1, AddToRepairList"}},
		{"sendr", nil},
		{`text == "`, nil},
		{"udp.s", []string{"udp.srcport"}},
		{"ud", []string{"udp."}},
		{"upp", []string{"upper("}},
		{"upper(Chat.te", []string{"upper(Chat.text"}},
		{"upper(dir) == c", []string{"upper(dir) == c2s"}},
		{"", []string{"AddToRepairList"}},
		{"not ", []string{"not AddToRepairList"}},
	} {
		got := Complete(tt.expr, nil)
		if len(tt.first) == 1 && len(got) > 1 {
			got = got[:1]
		}
		if !slices.Equal(got, tt.first) {
			t.Errorf("%q: got %q, want %q", tt.expr, got, tt.first)
		}
	}
}

// The keys of GameSpy datagrams are texts, and numbers where all values are.
func TestGameSpy(t *testing.T) {
	r := &dissect.Record{
		Datagram: datagram(), Kind: dissect.KindGameSpy,
		GameSpy: gamespy.Parse([]byte(`\hostname\OpenBC Server\numplayers\3\gamever\1.6\player_0\Kirk\player_0\Cady2\final\`)),
	}
	for expr, want := range map[string]bool{
		`gamespy.hostname == "OpenBC Server"`:         true,
		`gamespy.hostname contains Open`:              true,
		`upper(gamespy.hostname[0:6]) == "OPENBC"`:    true,
		`gamespy.hostname`:                            true,
		`gamespy.mapname`:                             false,
		`gamespy.mapname != DM`:                       false,
		`gamespy.Hostname`:                            false,
		`gamespy.numplayers == 3`:                     true,
		`gamespy.numplayers == "3"`:                   true,
		`gamespy.numplayers >= 4`:                     false,
		`gamespy.numplayers in {1..3}`:                true,
		`gamespy.numplayers in {1 x 3}`:               true,
		`gamespy.hostname == 3`:                       false,
		`gamespy.gamever == 1.6`:                      true,
		`gamespy.player_0 == Cady2`:                   true,
		`gamespy.player_0 != Cady2`:                   false,
		`gamespy.player_0 === Kirk`:                   false,
		`len(gamespy.player_0) == 5`:                  true,
		`gamespy.final and not gamespy.hostname == x`: true,
	} {
		if got := must(t, expr).Match(r); got != want {
			t.Errorf("%s: got %v", expr, got)
		}
	}
	if must(t, `gamespy.hostname == "x" or gamespy.numplayers == 0`).Match(records(t)["chat"]) {
		t.Error("a chat line has keys of GameSpy")
	}
}

// A player number is compared with the player's name.
func TestPlayerFields(t *testing.T) {
	score := game(t, []byte{0x36, 2, 0, 0, 0, 1, 0, 0, 0, 0, 0, 0, 0, 4, 0, 0, 0, 1, 0, 0, 0, 1, 3, 0, 0, 0, 9, 0, 0, 0}, decode.Stock, nil)
	score.Dir, score.Session = dissect.FromHost, players{2: "Kirk", 3: "Ace", 4: "Cady2"}
	chat := game(t, []byte{0x2C, 9, 0, 0, 0, 1, 0, 'x'}, decode.Stock, nil) // from a known client
	for expr, want := range map[string]bool{
		`victim == "Cady2"`:              true,
		`victim == Cady2`:                true,
		`victim == Kirk`:                 false,
		`victim == 4`:                    true,
		`victim != Cady2`:                false,
		`victim in {1, "Cady2"}`:         true,
		`killer_name contains "ir"`:      true,
		`ScoreChange.killer_name == Ace`: false,
		`updates.player == Ace`:          true,
		`updates.player_name == "Kirk"`:  false,
		`killer == Kirk and deaths == 1`: true,
	} {
		if f := compiled(t, expr); f.Match(score) != want {
			t.Errorf("%s: got %v", expr, !want)
		}
	}
	if !compiled(t, `sender == Cady2 and sender == 9`).Match(chat) {
		t.Error("a client's chat is not its player's")
	}
}

func compiled(t *testing.T, expr string) *Filter {
	t.Helper()
	f, err := Compile(expr, nil)
	if err != nil {
		t.Fatal(err)
	}
	return f
}

type players map[int64]string

func (p players) Player(by decode.Number, n int64) *dissect.Player {
	if name := p[n]; name != "" && by == decode.NetworkID {
		return &dissect.Player{Name: wire.Untrusted(name)}
	}
	return nil
}
func (players) Object(wire.ObjectID) wire.Untrusted                { return "" }
func (players) AppendObject(dst []byte, _ wire.ObjectID) []byte    { return dst }
func (players) ShipOf(id wire.ObjectID) (_ wire.ObjectID, ok bool) { return id, true }
