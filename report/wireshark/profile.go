package wireshark

import (
	_ "embed" // for the preferences
	"fmt"
	"io"
	"strings"

	"github.com/bcdissect/bcdissect/decode"
	"github.com/bcdissect/bcdissect/decode/msg"
	"github.com/bcdissect/bcdissect/dissect"
)

// ProfileName is the name of the profile in Wireshark.
const ProfileName = "Bridge Commander"

// Profile returns the files of a configuration profile by name. Wireshark 4.4
// and later switch to the profile for captures with traffic of the game.
func Profile() map[string]string {
	var rules strings.Builder
	_ = ColourRules(&rules) // a builder never returns an error
	return map[string]string{
		"preferences":      preferences,
		"colorfilters":     rules.String(),
		"dfilter_buttons":  buttons(),
		"io_graphs":        graphs,
		"profile_settings": "auto_switch_filter: bc\n",
	}
}

// preferences are the preferences of the profile, with its columns.
//
//go:embed preferences
var preferences string

// graphs are I/O graphs. The columns are enabled, name, filter, colour, style,
// value, field, average and factor.
const graphs = `"Enabled","All packets","","#000000","Line","Packets","","None","1"
"Enabled","Retransmissions","bc.status == \x22duplicate\x22","#C62828","Bar","Packets","","None","1"
"Disabled","Speed, average","","#1565C0","Line","AVG(Y Field)","bc.StateUpdate.speed","None","1"
"Disabled","Condition, least","","#EF6C00","Dot","MIN(Y Field)","bc.StateUpdate.subsystems.entries.condition","None","1"
"Disabled","Chat","bc.Chat","#2E7D32","Dot","Packets","","None","1"
`

// noUpdates is a filter for frames that contain no ship update, or also another
// named message. The operator !== is true if any of several names differs.
const noUpdates = `bc && (!(bc.name == "StateUpdate") || bc.name !== "StateUpdate")`

// buttons returns the filter buttons, with the columns enabled, name, filter
// and comment.
func buttons() string {
	var b strings.Builder
	for _, one := range []struct{ name, filter string }{
		{"No updates", noUpdates},
		{"Chat", "bc.Chat"},
		{"Damage", ofTopic(decode.TopicDamage)},
		{"Weapons", ofTopic(decode.TopicWeapons)},
		{"Match", ofTopic(decode.TopicMatch)},
		{"Joining", ofTopic(decode.TopicJoining) + " || " + ofTopic(decode.TopicLeaving)},
		{"Resent", `bc.status == "duplicate"`},
		{"Problems", problems()},
	} {
		fmt.Fprintf(&b, "\"TRUE\",\"%s\",\"%s\",\"\"\n", one.name, strings.ReplaceAll(one.filter, `"`, `\x22`))
	}
	return b.String()
}

// problems returns a filter for messages that were not completely decoded.
func problems() string {
	var all []string
	for s := dissect.StatusOK; s <= dissect.StatusMalformed; s++ {
		if s.Problem() {
			all = append(all, fmt.Sprintf("%q", s))
		}
	}
	return "bc.status in {" + strings.Join(all, ", ") + "}"
}

// A colour is a colour rule. The first rule that matches a frame sets its
// colours, as 24-bit RGB.
type colour struct {
	name       string
	filter     string
	back, fore uint32
}

const (
	black = 0x000000
	grey  = 0x666666
)

// colours returns the rules, the most important first.
func colours() []colour {
	rules := []colour{
		{"malformed", `bc.status == "malformed"`, 0xC62828, 0xFFFFFF},
		{"undecoded", `bc.status == "unknown" || bc.status == "trailing" || bc.status == "unresolved"`, 0xFFE082, black},
		{"retransmission", `bc.status == "duplicate"`, 0x424242, 0xEF9A9A},
	}
	for _, t := range []struct {
		topic decode.Topic
		back  uint32
	}{
		{decode.TopicTalk, 0xFFF59D},
		{decode.TopicDamage, 0xFFAB91},
		{decode.TopicWeapons, 0xFFCCBC},
		{decode.TopicMatch, 0xCE93D8},
		{decode.TopicJoining, 0xA5D6A7},
		{decode.TopicLeaving, 0xBCAAA4},
		{decode.TopicObjects, 0x90CAF9},
		{decode.TopicFiles, 0xDCEDC8},
	} {
		if filter := ofTopic(t.topic); filter != "" {
			rules = append(rules, colour{t.topic.String(), filter, t.back, black})
		}
	}
	return append(
		rules,
		colour{"joining or leaving", `bc.kind == "connect" || bc.kind == "name_change" || bc.kind == "boot" || bc.kind == "disconnect"`, 0xA5D6A7, black},
		colour{"GameSpy", "bc.gamespy", 0xE1F5FE, black},
		colour{"flight", ofTopic(decode.TopicFlight), 0xFFFFFF, black},
		colour{"acknowledgement or keepalive", "bc", 0xFAFAFA, grey},
	)
}

// ofTopic returns a filter for the messages of a topic, or "" if there are
// none.
func ofTopic(t decode.Topic) string {
	var all []string
	for _, s := range msg.Catalog().All() {
		if s.Topic == t && !s.CatchAll {
			all = append(all, fmt.Sprintf("%q", s.Name))
		}
	}
	if all == nil {
		return ""
	}
	return "bc.name in {" + strings.Join(all, ", ") + "}"
}

// ColourRules writes the colour rules in the format of Wireshark's file
// colorfilters.
func ColourRules(w io.Writer) error {
	var b strings.Builder
	for _, c := range colours() {
		fmt.Fprintf(&b, "@Bridge Commander: %s@%s@%s%s\n", c.name, c.filter, rgb(c.back), rgb(c.fore))
	}
	_, err := io.WriteString(w, b.String())
	return err
}

// rgb returns a colour with 16 bits for each component.
func rgb(c uint32) string {
	wide := func(shift int) uint32 { return c >> shift & 0xFF * 0x101 }
	return fmt.Sprintf("[%d,%d,%d]", wide(16), wide(8), wide(0))
}
