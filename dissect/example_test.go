package dissect_test

import (
	"fmt"
	"log"
	"maps"
	"net/netip"
	"os"
	"slices"
	"time"

	"github.com/google/gopacket"
	"github.com/google/gopacket/pcapgo"

	"github.com/bcdissect/bcdissect/decode"
	"github.com/bcdissect/bcdissect/decode/msg"
	"github.com/bcdissect/bcdissect/dissect"
	"github.com/bcdissect/bcdissect/dissect/relay"
	"github.com/bcdissect/bcdissect/dissect/relay/arq"
	"github.com/bcdissect/bcdissect/fixtures"
)

var evening = fixtures.Path("captures/stock_client.pcap")

// This example prints a chat log. Each line appears once, without the copies
// that the host passes on.
func ExampleFile() {
	for rec, err := range dissect.File(evening) {
		if err != nil {
			log.Fatal(err)
		}
		if chat, ok := rec.Message.(*msg.Chat); ok && rec.First {
			fmt.Printf("%s %s: %.24s\n", rec.Time.Format("15:04:05"), rec.PlayerName(chat.Sender), chat.Text)
		}
	}
	// Output:
	// 02:18:05 Cady2: everything good for you?
	// 02:18:05 Kirk: everything good for you?
	// 02:18:06 Cady2: fragmented chat: the qui
	// 02:18:06 Cady2: fragmented chat: the qui
	// 02:18:06 Kirk: fragmented chat: the qui
	// 02:18:07 Kirk: fragmented chat: the qui
}

// This example prints a kill feed. The host reports a loss to every player, and
// only the first report counts.
func ExampleFile_kills() {
	for rec, err := range dissect.File(evening) {
		if err != nil {
			log.Fatal(err)
		}
		loss, ok := rec.Message.(*msg.ScoreChange)
		switch {
		case !ok || !rec.First:
		case loss.Killer == 0:
			fmt.Printf("%s loses a ship\n", rec.PlayerName(loss.Victim))
		default:
			fmt.Printf("%s destroys a ship of %s\n", rec.PlayerName(loss.Killer), rec.PlayerName(loss.Victim))
		}
	}
	// Output: Cady2 loses a ship
}

// This example prints a kill feed from a gopacket source. Here, pcapgo reads
// the file. A pcap.Handle, an afpacket.TPacket or your own source also works.
func ExamplePackets() {
	f, err := os.Open(evening)
	if err != nil {
		log.Fatal(err)
	}
	defer f.Close()
	r, err := pcapgo.NewReader(f)
	if err != nil {
		log.Fatal(err)
	}
	src := &counted{src: r}
	for rec, err := range dissect.Packets(dissect.Config{}, src, r.LinkType()) {
		if err != nil {
			log.Fatal(err)
		}
		if loss, ok := rec.Message.(*msg.ScoreChange); ok && rec.First {
			fmt.Printf("packet %d: %s loses a ship\n", rec.Datagram.Number, rec.PlayerName(loss.Victim))
		}
	}
	fmt.Println(src.packets, "packets")
	// Output:
	// packet 307: Cady2 loses a ship
	// 345 packets
}

// A counted is a gopacket.PacketDataSource that counts the packets of another
// one.
type counted struct {
	src     gopacket.PacketDataSource
	packets int
}

// ReadPacketData implements [gopacket.PacketDataSource].
func (c *counted) ReadPacketData() ([]byte, gopacket.CaptureInfo, error) {
	data, ci, err := c.src.ReadPacketData()
	if err == nil {
		c.packets++
	}
	return data, ci, err
}

// This example counts opcodes, without retransmissions and fragments.
func ExampleFiles() {
	counts := map[string]int{}
	for rec, err := range dissect.Files(dissect.Config{Ports: []uint16{29904}}, evening) {
		if err != nil {
			log.Fatal(err)
		}
		if rec.Game() && rec.Spec != nil {
			counts[rec.Spec.Name]++
		}
	}
	for _, name := range slices.Sorted(maps.Keys(counts)) {
		if counts[name] >= 10 {
			fmt.Println(counts[name], name)
		}
	}
	// Output:
	// 14 Chat
	// 10 ChecksumRequest
	// 10 ChecksumResponse
	// 20 HostEvent
	// 11 PlayerAnnounce
	// 170 StateUpdate
}

// This example changes a message and encodes it in the dialect in which it was
// decoded.
func ExampleRecord() {
	for rec, err := range dissect.File(evening) {
		if err != nil {
			log.Fatal(err)
		}
		chat, ok := rec.Message.(*msg.Chat)
		if !ok {
			continue
		}
		fmt.Printf("% x\n", rec.Payload[:12])
		chat.Text = []byte("hello")
		payload, err := decode.Append(nil, rec.Spec, chat, rec.Layout)
		if err != nil {
			log.Fatal(err)
		}
		fmt.Printf("% x\n", payload)
		break
	}
	// Output:
	// 2c 03 00 00 00 18 00 65 76 65 72 79
	// 2c 03 00 00 00 05 00 68 65 6c 6c 6f
}

// This example prints the records of a single datagram.
func ExamplePipeline_Records() {
	p := dissect.New(dissect.Config{})
	datagram := &dissect.Datagram{
		Number: 1, Src: netip.MustParseAddrPort("192.0.2.7:5000"), Dst: netip.MustParseAddrPort("192.0.2.1:22101"),
		Payload: []byte(`\status\`), Full: 8,
	}
	for rec := range p.Records(datagram) {
		fmt.Println(rec.Src, rec.Dir, rec.GameSpy.Kind())
	}
	// Output: 192.0.2.7:5000 c2s query
}

// This example is a bot that joins a host and sends chat. Host and client have
// neither socket nor clock. A program moves the datagrams of both to and from
// the network.
func Example_bot() {
	address := netip.MustParseAddrPort("192.0.2.7:5000")
	host := relay.NewHost(relay.Config{Name: "evening", Mission: "Multiplayer.Episode.Mission1.Mission1"})
	said := false
	bot := relay.NewClient(relay.ClientConfig{
		Name: "Bot", Nonce: 7, Enter: true,
		Answer: func(round uint8) *msg.ChecksumResponse { return &msg.ChecksumResponse{Round: round} },
		Deliver: func(_ time.Time, m *arq.Message) {
			if len(m.Body) > 7 && decode.Opcode(m.Body[0]) == msg.OpChat {
				fmt.Printf("the host passes on: %s\n", m.Body[7:])
			}
		},
	})
	now := time.Date(2026, 11, 22, 20, 0, 0, 0, time.UTC)
	bot.Connect(now, nil)
	for range 1000 {
		for d, ok := bot.Datagram(now); ok; d, ok = bot.Datagram(now) {
			host.Receive(now, address, d)
		}
		for _, d, ok := host.Send(); ok; _, d, ok = host.Send() {
			bot.Receive(now, d)
		}
		if bot.InGame && !said {
			bot.Say(now, msg.OpChat, &msg.Chat{Sender: int32(bot.ID), Text: []byte("hello")})
			said = true
		}
		now = now.Add(10 * time.Millisecond)
		host.Advance(now)
	}
	fmt.Println("still playing:", bot.Phase == relay.ClientPlaying)
	// Output:
	// the host passes on: hello
	// still playing: true
}
