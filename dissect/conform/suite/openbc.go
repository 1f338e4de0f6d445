package suite

// A difference is a documented one of OpenBC's servers. The case that it is of tells it from
// other ways to break the rule: those are faults of OpenBC's servers, too.
type difference struct{ text, source string }

// differences are those of OpenBC's servers, by case: the only table of what concerns a case and
// not a message, which has Deviations and Habits in its spec. Their sources are parts of the
// protocol reference (README: its section about dialects; cases: its list of cases, which
// names hosts that are known to break them), and rules of the command replay.
var differences = map[string]difference{
	"T-2":  {"OpenBC does not acknowledge a first connect", "README; cases T-2"},
	"T-4":  {"OpenBC ignores the copies", "cases T-4"},
	"T-5":  {"OpenBC takes a second connect of an address for a copy of the first", "cases T-5"},
	"T-10": {"OpenBC counts with 8 bits", "README; cases T-10"},
	"T-13": {"OpenBC sends messages again after 2 s, or at the next whole second", "cases T-13"},
	"T-17": {"OpenBC sends the client's own name every second", "README; CONFLICTS-transport 4.6"},
	"T-19": {"OpenBC waits for 30 s, and tells of it with game messages", "CONFLICTS-transport 4.5; cases L-2"},
	"T-21": {"OpenBC sends any number of messages again at once", "cases T-21"},
	"T-28": {"OpenBC derives the id from the slot", "CONFLICTS-transport 8.1; cases T-28"},

	"J-8":  {"OpenBC passes 2A on to the others, and counts those who load among those in the game", "README; cases J-8; replay: copies-while-loading"},
	"J-10": {"OpenBC sends the first player its own score, and does not wait for 2A", "README; CONFLICTS-transport 5.15"},
	"J-11": {"OpenBC announces those who were there to the newcomer", "replay: announces-present-players"},
	"J-12": {"OpenBC sends scores and objects before 2A", "CONFLICTS-transport 5.15; replay: objects-while-loading"},
	"J-13": {"OpenBC bundles creations", "README"},
	"J-14": {"OpenBC sends 29 at each kill and passes on those of clients", "cases J-14"},
	"J-15": {"OpenBC does not tell names", "cases J-15"},
	"J-16": {"OpenBC sends it to its author alone", "README"},
	"J-17": {"OpenBC does not rename", "cases J-17"},
	"J-22": {"OpenBC refuses without an accept, and not reliably", "README; cases J-22"},

	"O-1":  {"OpenBC sends it only to those in the game", "cases O-1"},
	"O-2":  {"OpenBC sends none", "cases O-2; replay: no-verify-enter-set"},
	"O-4":  {"OpenBC answers 1D", "README; cases O-4"},
	"O-5":  {"OpenBC sends the newest ship of the slot", "README; cases O-5"},
	"O-6":  {"OpenBC has an option that respawns players", "cases O-6"},
	"D-8":  {"OpenBC passes any 06 on", "cases D-8"},
	"R-0E": {"OpenBC refuses to cloak ships that have no cloak in its own data", "replay: refuses-cloak-and-warp"},
	"R-19": {"OpenBC drops the form without a target", "README; cases R-19"},
	"R-1A": {"OpenBC drops the form without a target", "README; cases R-1A"},
	"N-15": {"OpenBC passes 15 on (until May 2026)", "README; cases N-15"},
	"N-2A": {"OpenBC passes 2A on", "README; cases N-2A"},
	"N-06": {"OpenBC passes 06 on", "cases N-06"},
	"N-14": {"OpenBC passes 14 on (until May 2026)", "cases N-14"},
	"N-29": {"OpenBC passes 29 on", "cases N-29"},
	"R-2C": {"OpenBC puts the slot in the place of the author", "README; cases R-2C"},
	"R-2D": {"OpenBC sends it to all", "cases R-2D"},
	"R-41": {"OpenBC leaves out the author", "cases R-41"},
	"R-A1": {"OpenBC counts those who load among those in the game", "replay: copies-while-loading"},

	"U-1":  {"OpenBC passes clients' updates on", "cases U-1"},
	"U-3":  {"OpenBC sends about seven a second", "cases U-3"},
	"U-4":  {"OpenBC passes clients' updates on", "cases U-1"},
	"U-5":  {"OpenBC's blocks follow another rule", "README; cases U-5"},
	"U-6":  {"OpenBC's blocks follow another rule", "README; cases U-6"},
	"U-7":  {"OpenBC's blocks follow another rule", "README; cases U-5"},
	"U-8":  {"OpenBC passes clients' updates on", "cases U-1"},
	"U-11": {"OpenBC passes on the times of clients beside its own", "cases U-1"},
	"D-7":  {"OpenBC names another part as the repair subsystem, and sends no codes 74 and 75", "CONFLICTS-game 29; cases D-7"},

	"L-1": {"OpenBC tells of a leave with game messages", "cases L-2"},
	"L-2": {"OpenBC sends 14, 17 and a shorter 18", "cases L-2"},
	"L-3": {"OpenBC sends both", "cases L-3"},
	"L-5": {"OpenBC derives the id from the slot", "CONFLICTS-transport 8.1"},
}
