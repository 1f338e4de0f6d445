package ship

var asteroid = Class{
	Species: 31, Name: "Asteroid", Constant: "ASTEROID", Faction: "Neutral",
	Total: 3, SnapshotBytes: 12,
	OwnCycle: []uint8{0, 2}, OwnRepeat: 2,
	Subsystems: []Subsystem{
		hull("Asteroid", 1, 2500),
		shield(2, 200, [6]float32{0, 0, 0, 0, 0, 0}),
		reactor("Power Plant", 3, 200, 70000, 10000),
	},
}

var asteroid1 = Class{
	Species: 32, Name: "Asteroid1", Constant: "ASTEROID1", Faction: "Neutral",
	Total: 3, SnapshotBytes: 12,
	OwnCycle: []uint8{0, 2}, OwnRepeat: 2,
	Subsystems: []Subsystem{
		hull("Asteroid", 1, 350),
		shield(2, 200, [6]float32{0, 0, 0, 0, 0, 0}),
		reactor("Power Plant", 3, 200, 70000, 10000),
	},
}

var asteroid2 = Class{
	Species: 33, Name: "Asteroid2", Constant: "ASTEROID2", Faction: "Neutral",
	Total: 3, SnapshotBytes: 12,
	OwnCycle: []uint8{0, 2}, OwnRepeat: 2,
	Subsystems: []Subsystem{
		hull("Asteroid", 1, 1500),
		shield(2, 200, [6]float32{0, 0, 0, 0, 0, 0}),
		reactor("Power Plant", 3, 200, 70000, 10000),
	},
}

var asteroid3 = Class{
	Species: 34, Name: "Asteroid3", Constant: "ASTEROID3", Faction: "Neutral",
	Total: 3, SnapshotBytes: 12,
	OwnCycle: []uint8{0, 2}, OwnRepeat: 2,
	Subsystems: []Subsystem{
		hull("Asteroid", 1, 1000),
		shield(2, 200, [6]float32{0, 0, 0, 0, 0, 0}),
		reactor("Power Plant", 3, 200, 70000, 10000),
	},
}

// The script takes the Space Facility's list and adds some of its properties
// again; they are assumed to replace the first ones.
var biranuStation = Class{
	Species: 36, Name: "Biranu Station", Constant: "BIRANUSTATION", Faction: "Neutral",
	Uncertain: true, Total: 5, SnapshotBytes: 16,
	OwnCycle: []uint8{0, 2}, OwnRepeat: 2,
	Subsystems: []Subsystem{
		hull("Hull", 1, 35000),
		shield(2, 18000, [6]float32{3000, 3000, 3000, 3000, 3000, 3000}),
		system(Sensor, "Sensor Array", 3, 16000),
		reactor("Power Plant", 4, 20000, 400000, 200000),
		system(Repair, "Engineering", 5, 3000),
	},
}

var asteroidH1 = Class{
	Species: 40, Name: "Asteroid", Constant: "ASTEROIDH1", Faction: "Neutral",
	Total: 3, SnapshotBytes: 12,
	OwnCycle: []uint8{0, 2}, OwnRepeat: 2,
	Subsystems: []Subsystem{
		hull("Asteroid", 1, 400000),
		shield(2, 200, [6]float32{0, 0, 0, 0, 0, 0}),
		reactor("Power Plant", 3, 200, 70000, 10000),
	},
}

var asteroidH2 = Class{
	Species: 41, Name: "Asteroid", Constant: "ASTEROIDH2", Faction: "Neutral",
	Total: 3, SnapshotBytes: 12,
	OwnCycle: []uint8{0, 2}, OwnRepeat: 2,
	Subsystems: []Subsystem{
		hull("Asteroid", 1, 400000),
		shield(2, 200, [6]float32{0, 0, 0, 0, 0, 0}),
		reactor("Power Plant", 3, 200, 70000, 10000),
	},
}

var asteroidH3 = Class{
	Species: 42, Name: "Asteroid", Constant: "ASTEROIDH3", Faction: "Neutral",
	Total: 3, SnapshotBytes: 12,
	OwnCycle: []uint8{0, 2}, OwnRepeat: 2,
	Subsystems: []Subsystem{
		hull("Asteroid", 1, 400000),
		shield(2, 200, [6]float32{0, 0, 0, 0, 0, 0}),
		reactor("Power Plant", 3, 200, 70000, 10000),
	},
}

var escapePod = Class{
	Species: 43, Name: "Escape Pod", Constant: "ESCAPEPOD", Faction: "Neutral",
	Total: 8, SnapshotBytes: 19,
	OwnCycle: []uint8{0, 3}, OwnRepeat: 0,
	Subsystems: []Subsystem{
		hull("Hull", 1, 1500),
		system(Impulse, "Impulse Engines", 2, 300,
			part("Port Impulse", 6, 400),
			part("Star Impulse", 7, 400),
			part("Center Impulse", 8, 400),
		),
		reactor("Power Plant", 3, 700, 50000, 20000),
		system(Sensor, "Sensor Array", 4, 400),
		shield(5, 400, [6]float32{0, 0, 0, 0, 0, 0}),
	},
}

// The list is unknown: the game has no ship script for it.
var borgCube = Class{
	Species: 45, Name: "BorgCube", Constant: "BORGCUBE", Faction: "Borg",
}
