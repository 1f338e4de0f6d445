package suite

// simulationCases are the rules that only a host keeps that simulates ships. No
// script can provoke them; some are seen in captures.
func simulationCases() []Case {
	list := []Case{
		{ID: "U-3", Title: "ten updates a second", Rule: "A client's own ship is updated every 0.1 s, or every 0.125, 0.167, 0.25 or 0.5 s with many players or modems.", Source: "TRANSPORT 11.4", Grade: OnWire, watch: watchPace},
		{ID: "U-4", Title: "own ship", Rule: "Updates of the receiver's own ship have flag 20 alone.", Source: "GAME 7.2, 7.5", Grade: OnWire, watch: watchOwnShip},
		{ID: "U-5", Title: "start indices", Rule: "The start indices of subsystem blocks follow the class.", Source: "GAME 7.5", Grade: OnWire, watch: watchStarts},
		{ID: "U-6", Title: "end of a block", Rule: "A subsystem block ends at its last byte.", Source: "GAME 7.5", Grade: OnWire, watch: watchBlocks},
		{ID: "U-7", Title: "first block", Rule: "The first block of an undamaged Sovereign is 00 FF FF 20 FF FF FF FF FF FF.", Source: "GAME 7.5", Grade: OnWire, watch: watchFirst},
		{ID: "U-8", Title: "integrity hash", Rule: "The host writes 0 in the bit behind a position.", Source: "GAME 7.2", Grade: OnWire, watch: watchHash},
		{ID: "U-9", Title: "position each second", Rule: "A near ship's absolute position is sent at least every 1.1 s.", Source: "GAME 7.3", Grade: FromCode, watch: watchPositions},
		{ID: "U-10", Title: "distant ships", Rule: "Distant ships are updated at 2, 5 or 10 times the interval of the own ship, each second at least.", Source: "TRANSPORT 11.4", Grade: OnWire, watch: watchDistance},
		{ID: "U-12", Title: "position before offsets", Rule: "An offset never precedes the first absolute position.", Source: "GAME 7.3", Grade: FromCode, watch: watchBase},
		{ID: "D-1", Title: "self-destruction", Rule: "13 is answered by 06 with code 4E for the ship, without source and player, that takes 9.5 s.", Source: "GAME 8.3, 11", Grade: OnWire, watch: watchDeaths},
		{ID: "D-2", Title: "score after a death", Rule: "Each 36 counts one more death of its victim.", Source: "GAME 10.4", Grade: OnWire, watch: func() watcher { return watchScores(false) }},
		{ID: "D-3", Title: "updates of a wreck", Rule: "A ship's updates go on while it explodes.", Source: "GAME 2.3", Grade: OnWire, watch: watchWrecks},
		{ID: "D-5", Title: "collision", Rule: "A report of a collision does damage once.", Source: "GAME 8.6", Grade: OnWire},
		{ID: "D-6", Title: "others' collisions", Rule: "A report about another's ship is ignored.", Source: "GAME 8.6", Grade: FromCode},
		{ID: "D-7", Title: "repairs", Rule: "Events of repairs name parts of the ship.", Source: "GAME 8.3", Grade: OnWire, watch: watchRepairs},
		{ID: "D-9", Title: "frag limit", Rule: "The frag limit ends the game with 38, reason 2.", Source: "GAME 10.6", Grade: Scripts, watch: watchLimit},
		{ID: "D-10", Title: "restart", Rule: "After 39 the deaths are counted from 0 again.", Source: "GAME 10.6", Grade: Scripts, watch: func() watcher { return watchScores(true) }},
		{ID: "L-7", Title: "scores kept", Rule: "A player who comes back finds the old score.", Source: "TRANSPORT 7.3", Grade: Scripts, watch: watchReturns},
	}
	why := map[string]string{
		"D-5": "needs a host that simulates ships; no message tells how much damage one report does (GAME 8.6), so that two look like one",
		"D-6": "needs a host that simulates ships; messages of damage do not name the report that caused it (GAME 8.6)",
	}
	for i := range list {
		list[i].Profiles = likeStock
		if list[i].LeftOut = why[list[i].ID]; list[i].LeftOut == "" {
			list[i].LeftOut = "needs a host that simulates ships"
		}
	}
	return list
}
