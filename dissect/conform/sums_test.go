package conform_test

import (
	"bytes"
	"strings"
	"testing"

	"github.com/bcdissect/bcdissect/decode/msg"
)

// scoresWrong returns the frames of wrong scores, and what is wrong with the first.
func (t tape) scoresWrong(tb testing.TB) (frames []int, first string) {
	tb.Helper()
	for _, r := range t.judged(tb) {
		for _, d := range r.Differences {
			if d.Opcode != msg.OpScoreChange && d.Opcode != msg.OpScore {
				continue
			}
			if frames = append(frames, d.Frame); first == "" {
				first = d.Detail
			}
		}
	}
	return frames, first
}

// TestKillScores: a server that gives a killer 100 points too many in every ScoreChange,
// but does not count them. Three of its kills are followed by a share in another, which
// an even number of hits does not explain; three and two times four players are told.
func TestKillScores(t *testing.T) {
	frames, first := readTape(t, "field/f2x.host.pcap.gz").scoresWrong(t)
	if len(frames) != 11 || frames[0] != 281 || frames[10] != 1851 || !strings.Contains(first, "+100") {
		t.Errorf("%v: %s; want 11 from 281 to 1851, of 100 points", frames, first)
	}
}

// TestKillScoresInTrouble: what one player's recording lacks, other players' messages show.
func TestKillScoresInTrouble(t *testing.T) {
	m := newMeddler(t, readTape(t, "field/c21.host.pcap.gz"))
	m.scores()
	for _, w := range []trouble{{"unchanged", 0}, {"lost", 0.02}, {"lost", 0.1}} {
		if frames, first := m.faulty(t).after(w, 1).scoresWrong(t); len(frames) == 0 || !strings.Contains(first, "+100") && !strings.Contains(first, "+99") {
			t.Errorf("%v: %v %q, want some of 100 points, or of 99, since shares are truncated", w, frames, first)
		}
	}
}

// TestCounts: kills and deaths rise by one, and scores do not fall.
func TestCounts(t *testing.T) {
	whole := readTape(t, "field/c21.host.pcap.gz")
	for _, tt := range []struct {
		at   int // low byte of a number in the last ScoreChange with a killer
		is   [2]byte
		want string
	}{
		{5, [2]byte{9, 0}, "kills"},
		{5, [2]byte{1, 0}, "kills"},
		{17, [2]byte{9, 0}, "deaths"},
		{9, [2]byte{1, 0}, "score"},
	} {
		m := newMeddler(t, whole)
		for i := len(m.told) - 1; ; i-- {
			o := &m.told[i]
			if o.op != msg.OpScoreChange || o.again || o.payload[1] == 0 {
				if i == 0 {
					t.Fatal("no kill")
				}
				continue
			}
			body := bytes.Clone(o.payload)
			copy(body[tt.at:], tt.is[:])
			m.alter[o] = body
			break
		}
		if frames, first := m.faulty(t).scoresWrong(t); len(frames) == 0 || !strings.Contains(first, tt.want) {
			t.Errorf("byte %d: %v %q, want one about %s", tt.at, frames, first, tt.want)
		}
	}
}
