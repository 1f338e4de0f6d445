package cli

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	"github.com/bcdissect/bcdissect/decode/msg"
	"github.com/bcdissect/bcdissect/decode/names"
	"github.com/bcdissect/bcdissect/dissect/relay"
)

// GameRules are the flags for the rules of a game.
type GameRules struct {
	mission   string
	system    string
	timeLimit int
	fragLimit int
}

// Define defines the flags.
func (g *GameRules) Define(cmd *cobra.Command, mission, system string) {
	fl := cmd.Flags()
	fl.StringVar(&g.mission, "mission", mission, "`MISSION`, or its script as Multiplayer.Episode.Mission1.Mission1")
	fl.StringVar(&g.system, "system", system, "star `SYSTEM`, by number or name")
	fl.IntVar(&g.timeLimit, "time-limit", 0, "time limit of `N` minutes, as told to clients (0 = none)")
	fl.IntVar(&g.fragLimit, "frag-limit", 0, "`N` kills end the game, as told to clients (0 = none)")
	// The only error is that the flag does not exist.
	_ = cmd.RegisterFlagCompletionFunc("mission", cobra.FixedCompletions(missions, cobra.ShellCompDirectiveNoFileComp))
	_ = cmd.RegisterFlagCompletionFunc("system", cobra.FixedCompletions(systems(), cobra.ShellCompDirectiveNoFileComp))
}

// Fill parses the flags. If needed is not set, mission and system may be empty.
func (g *GameRules) Fill(c *relay.Config, needed bool) (err error) {
	if needed || g.system != "" {
		if c.System, err = systemOf(g.system); err != nil {
			return err
		}
	}
	if needed || g.mission != "" {
		if c.Mission, err = missionOf(g.mission); err != nil {
			return err
		}
	}
	if c.TimeLimit, err = limitOf("--time-limit", g.timeLimit); err != nil {
		return err
	}
	c.FragLimit, err = limitOf("--frag-limit", g.fragLimit)
	return err
}

// missions are the missions of the original game. Mods have others.
var missions = []string{"Mission1", "Mission2", "Mission3", "Mission5"}

// systems returns the names of the star systems, by number.
func systems() (list []string) {
	for number, name := range names.Systems.Values() {
		if number > 0 { // 0 stands for no system
			list = append(list, name)
		}
	}
	return list
}

// systemOf parses a star system, which is a number or a name.
func systemOf(text string) (uint8, error) {
	if n, err := strconv.ParseUint(text, 10, 8); err == nil && n > 0 && names.Systems.Name(n) != "" {
		return uint8(n), nil
	}
	for number, name := range names.Systems.Values() {
		if number > 0 && strings.EqualFold(text, name) {
			return uint8(number), nil
		}
	}
	list := systems()
	return 0, fmt.Errorf("--system %s: no such star system%s; there are %s", text, names.DidYouMean(text, list), strings.Join(list, ", "))
}

// missionOf returns the script of a mission. A mission of the original game
// needs only its own name. A name with dots is already a script, perhaps of a
// mod.
func missionOf(text string) (string, error) {
	bad := func(r rune) bool { return r <= ' ' || r > '~' || r == '\\' }
	if text == "" || len(text) > 255 || strings.ContainsFunc(text, bad) {
		return "", fmt.Errorf("--mission %s: want a name such as Mission1 or Multiplayer.Episode.Mission1.Mission1", text)
	}
	if strings.Contains(text, ".") {
		return text, nil
	}
	return "Multiplayer.Episode." + text + "." + text, nil
}

// limitOf parses a limit. 0 means no limit.
func limitOf(flag string, n int) (uint8, error) {
	switch {
	case n == 0:
		return msg.Unlimited, nil
	case n < 0 || n >= msg.Unlimited:
		return 0, fmt.Errorf("%s %d: give a number from 1 to %d, or 0 for no limit", flag, n, msg.Unlimited-1)
	}
	return uint8(n), nil
}
