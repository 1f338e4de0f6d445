package acmi

import (
	"math"
	"strings"
	"testing"
	"time"

	"github.com/bcdissect/bcdissect/decode/wire"
	"github.com/bcdissect/bcdissect/dissect/match"
)

func TestAngles(t *testing.T) {
	s := float32(math.Sqrt(0.5))
	for _, tt := range []struct {
		name             string
		forward, up      [3]float32
		roll, pitch, yaw float64
	}{
		{"north", [3]float32{0, 1, 0}, [3]float32{0, 0, 1}, 0, 0, 0},
		{"east", [3]float32{1, 0, 0}, [3]float32{0, 0, 1}, 0, 0, 90},
		{"west, climbing", [3]float32{-s, 0, s}, [3]float32{s, 0, s}, 0, 45, 270},
		{"north, on the right side", [3]float32{0, 1, 0}, [3]float32{1, 0, 0}, 90, 0, 0},
		{"east, on the left side", [3]float32{1, 0, 0}, [3]float32{0, 1, 0}, -90, 0, 90},
		{"south, upside down", [3]float32{0, -1, 0}, [3]float32{0, 0, -1}, 180, 0, 180},
		{"nothing", [3]float32{}, [3]float32{}, 0, 0, 0},
	} {
		roll, pitch, yaw := angles(&tt.forward, &tt.up)
		if math.Abs(math.Remainder(roll-tt.roll, 360)) > 0.01 || math.Abs(pitch-tt.pitch) > 0.01 || math.Abs(yaw-tt.yaw) > 0.01 {
			t.Errorf("%s: got %.1f %.1f %.1f, want %.1f %.1f %.1f", tt.name, roll, pitch, yaw, tt.roll, tt.pitch, tt.yaw)
		}
	}
}

// TestHostile has names that would end a line, a value or an object.
func TestHostile(t *testing.T) {
	evil := "a\\\n-1\n0,Event=Bookmark|x,y=z|\u202e\x00\\"
	m := &match.Match{
		Map: evil, Origin: time.Unix(0, 0).UTC(),
		Players: []match.Player{{Name: wire.Untrusted(evil)}},
		Lives:   []match.Life{{Player: 0, Ship: evil, End: 2, Track: []match.Sample{{T: 1, Forward: [3]float32{0, 1, 0}, Up: [3]float32{0, 0, 1}}}}},
		Kills:   []match.Kill{{T: 2, Victim: 0, Killer: match.NoPlayer, Life: 0, Weapon: evil}},
		Chat:    []match.Talk{{T: 1.5, Player: 0, Text: wire.Untrusted(evil)}},
	}
	var b strings.Builder
	if err := Write(&b, []*match.Match{m}); err != nil {
		t.Fatal(err)
	}
	want := `FileType=text/acmi/tacview
FileVersion=2.2
0,ReferenceTime=1970-01-01T00:00:00.000Z
0,ReferenceLongitude=0
0,ReferenceLatitude=0
0,DataSource=bcdissect
0,Title=EVIL
#1
1,Type=Air+FixedWing,Name=EVIL,CallSign=EVIL,Pilot=EVIL,Color=Blue
1,T=0|0|10000|0|0|0|0|0|0
#1.5
0,Event=Message|EVIL: EVIL
#2
0,Event=Destroyed|1|
0,Event=Bookmark|EVIL loses the ship: EVIL
-1
`
	want = strings.ReplaceAll(want, "EVIL", `a/?-1?0\,Event=Bookmark¦x\,y=z¦??/`)
	if got := b.String(); got != want {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
}
