package fragment_test

import (
	"crypto/sha1"
	"encoding/binary"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"net/netip"
	"slices"
	"testing"
	"time"

	"github.com/bcdissect/bcdissect/dissect/cipher"
	"github.com/bcdissect/bcdissect/dissect/internal/fragment"
	"github.com/bcdissect/bcdissect/dissect/transport"
	"github.com/bcdissect/bcdissect/fixtures"
)

// fragments calls each with the fragments of a deciphered datagram, up to the
// first malformed message.
func fragments(t *testing.T, plain []byte, each func(m *transport.Message)) {
	t.Helper()
	s, err := transport.Split(plain)
	if err != nil {
		t.Fatal(err)
	}
	for {
		m, ok, _ := s.Next()
		if !ok {
			return
		}
		if m.Type == transport.Standard && m.Fragment {
			each(&m)
		}
	}
}

// A whole is a reassembled message in the terms of the truth file.
type whole struct {
	First  int `json:"frame_first"`
	Last   int `json:"frame_last"`
	Dir    string
	Seq    uint16
	Pieces int `json:"fragments"`
	Length int
	Opcode string
	SHA1   string
}

// A stock-shaped client sends its checksums and long chat lines in fragments,
// some of them twice.
func TestStockClient(t *testing.T) {
	var truth struct {
		Fragments struct {
			Fragments   int
			Reassembled int
			After       int `json:"duplicate_fragments_after_completion"`
			Incomplete  int `json:"incomplete_groups"`
			Messages    []whole
		}
	}
	if err := json.Unmarshal(fixtures.Read(t, "captures/stock_client.truth.json"), &truth); err != nil {
		t.Fatal(err)
	}
	want := truth.Fragments
	if want.Reassembled != 6 || want.After != 1 {
		t.Fatalf("got %+v", want)
	}

	type way struct{ src, dst netip.AddrPort }
	tables, trackers := map[way]*fragment.Table{}, map[way]*transport.Tracker{}
	var (
		got  []whole
		n    int
		late int // retransmitted fragments of complete messages
		seen = map[fragment.Status]int{}
	)
	for _, p := range packets(t, "captures/stock_client.pcap") {
		if p.payload[0] == '\\' {
			continue
		}
		fragments(t, cipher.Decrypt(nil, p.payload), func(m *transport.Message) {
			n++
			table := tables[way{p.src, p.dst}]
			if table == nil {
				table = fragment.New(fragment.DefaultLimits())
				tables[way{p.src, p.dst}] = table
				trackers[way{p.src, p.dst}] = new(transport.Tracker)
			}
			if trackers[way{p.src, p.dst}].Take(&m.Header, m.Body, p.at, false).Repeat {
				late++
				return
			}
			r := table.Add(p.at, m.Seq, m.Index, m.Count, p.frame, m.Body)
			seen[r.Status]++
			if r.Err != nil || len(r.Evicted) > 0 {
				t.Errorf("frame %d: got %v, given up %v", p.frame, r.Err, r.Evicted)
			}
			if r.Status != fragment.Complete {
				return
			}
			dir := "c2s"
			if p.src.Port() == 22101 {
				dir = "s2c"
			}
			got = append(got, whole{
				First: slices.Min(r.Frames), Last: slices.Max(r.Frames), Dir: dir, Seq: m.Seq, Pieces: len(r.Frames),
				Length: len(r.Message), Opcode: fmt.Sprintf("0x%02x", r.Message[0]), SHA1: fmt.Sprintf("%x", sha1.Sum(r.Message)),
			})
		})
	}
	if n != want.Fragments {
		t.Errorf("got %d fragments, want %d", n, want.Fragments)
	}
	if !slices.Equal(got, want.Messages) {
		t.Errorf("got\n%+v\nwant\n%+v", got, want.Messages)
	}
	total := 0
	for _, m := range want.Messages {
		total += m.Pieces
	}
	if seen[fragment.Invalid] > 0 || late+seen[fragment.Duplicate] != want.Fragments-total || seen[fragment.Pending]+seen[fragment.Complete] != total {
		t.Errorf("got %v", seen)
	}
	for _, table := range tables {
		if lost := table.Flush(); len(lost) > 0 {
			t.Errorf("incomplete: %+v", lost)
		}
	}
}

// Both sides of forged_small.pcap send messages with shuffled or missing
// fragments.
func TestForged(t *testing.T) {
	type group struct {
		Dir       string
		Client    int
		Seq       uint16
		Fragments int
		Complete  bool
		Payload   string
	}
	var expect struct {
		Groups    []group `json:"fragment_groups"`
		Datagrams []struct {
			Frame  int
			Dir    string
			Client int
			Clear  string
		}
	}
	if err := json.Unmarshal(fixtures.Read(t, "captures/forged_small.expect.json"), &expect); err != nil {
		t.Fatal(err)
	}
	type way struct {
		dir    string
		client int
	}
	tables := map[way]*fragment.Table{}
	got := map[group]bool{}
	for _, d := range expect.Datagrams {
		plain, err := hex.DecodeString(d.Clear)
		if err != nil {
			t.Fatal(err)
		}
		if len(plain) == 0 || plain[0] == '\\' {
			continue
		}
		w := way{d.Dir, d.Client}
		if tables[w] == nil {
			tables[w] = fragment.New(fragment.DefaultLimits())
		}
		fragments(t, plain, func(m *transport.Message) {
			r := tables[w].Add(time.Unix(0, 0), m.Seq, m.Index, m.Count, d.Frame, m.Body)
			if r.Err != nil || len(r.Evicted) > 0 {
				t.Errorf("frame %d: got %v, given up %v", d.Frame, r.Err, r.Evicted)
			}
			if r.Status == fragment.Complete {
				got[group{d.Dir, d.Client, m.Seq, len(r.Frames), true, hex.EncodeToString(r.Message)}] = true
			}
		})
	}
	for w, table := range tables {
		for _, g := range table.Flush() {
			i := slices.IndexFunc(expect.Groups, func(e group) bool { return e.Dir == w.dir && e.Client == w.client && e.Seq == g.Seq })
			if i < 0 || expect.Groups[i].Complete || g.Have != expect.Groups[i].Fragments-1 {
				t.Errorf("incomplete: %v %+v", w, g)
				continue
			}
			got[expect.Groups[i]] = true
		}
	}
	if len(got) != len(expect.Groups) {
		t.Errorf("got %d groups, want %d", len(got), len(expect.Groups))
	}
	for _, g := range expect.Groups {
		if !got[g] {
			t.Errorf("%s, client %d, number %d: not as expected", g.Dir, g.Client, g.Seq)
		}
	}
}

type packet struct {
	frame    int
	at       time.Time
	src, dst netip.AddrPort
	payload  []byte
}

// packets reads a little-endian pcap file of Ethernet frames with UDP over
// IPv4.
func packets(t *testing.T, name string) []packet {
	t.Helper()
	b := fixtures.Read(t, name)
	le, be := binary.LittleEndian, binary.BigEndian
	if le.Uint32(b) != 0xA1B2C3D4 || le.Uint32(b[20:]) != 1 {
		t.Fatalf("%s has magic number %08X, link type %d", name, le.Uint32(b), le.Uint32(b[20:]))
	}
	var out []packet
	for b = b[24:]; len(b) > 0; {
		p := packet{frame: len(out) + 1, at: time.Unix(int64(le.Uint32(b)), 1000*int64(le.Uint32(b[4:])))}
		n := le.Uint32(b[8:])
		ip := b[16+14 : 16+n]
		b = b[16+n:]
		udp := ip[4*(ip[0]&15):]
		p.src = netip.AddrPortFrom(netip.AddrFrom4([4]byte(ip[12:16])), be.Uint16(udp))
		p.dst = netip.AddrPortFrom(netip.AddrFrom4([4]byte(ip[16:20])), be.Uint16(udp[2:]))
		p.payload = udp[8:be.Uint16(udp[4:])]
		out = append(out, p)
	}
	return out
}
