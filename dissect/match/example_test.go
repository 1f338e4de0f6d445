package match_test

import (
	"fmt"
	"log"
	"time"

	"github.com/bcdissect/bcdissect/dissect"
	"github.com/bcdissect/bcdissect/dissect/match"
	"github.com/bcdissect/bcdissect/fixtures"
)

// This example is a kill feed for a chat bot. It reports each loss once, when
// its killer is settled. For a live capture, range over dissect.Read instead of
// dissect.File.
func ExampleBuilder() {
	post := func(line string) { fmt.Println(line) } // posts to the bot's channel
	feed := match.New(time.Time{})
	feed.OnKill = func(m *match.Match, k *match.Kill) {
		if !k.After {
			post(m.Tell(k).String())
		}
	}
	for rec, err := range dissect.File(fixtures.Path("captures/field/c15.router.pcap.gz")) {
		if err != nil {
			log.Fatal(err)
		}
		if err := feed.Record(rec); err != nil {
			log.Fatal(err)
		}
	}
	if err := feed.Close(); err != nil {
		log.Fatal(err)
	}
	for _, m := range feed.Matches() {
		post(m.Verdict(m.NameOf).String())
	}
	// Output:
	// Pilot3 destroys Pilot2's Akira with Forward Torpedo 1 at 42 units
	// Pilot1 loses a Galaxy: collision
	// Pilot2 destroys Pilot3's Galaxy with Forward Torpedo 1 at 35 units
	// Pilot2 loses a Galaxy: collision
	// Pilot4 destroys Pilot1's Galaxy with Phasers at 51 units
	// Pilot4 loses an Akira: collision
	// Pilot1 destroys Pilot3's Galaxy with Forward Torpedo 1 at 39 units
	// Pilot4 destroys Pilot1's Galaxy with Phasers at 47 units
	// Undecided: Pilot3 led
}
