package names

import (
	"iter"
	"strings"
)

// FileHashes maps hashes to file names.
type FileHashes struct{}

// Name is FileName.
func (FileHashes) Name(v uint64) string {
	if v>>32 != 0 {
		return ""
	}
	return FileName(uint32(v))
}

// Values yields the known hashes with their names, in the order of the file
// check.
func (FileHashes) Values() iter.Seq2[uint64, string] {
	return func(yield func(uint64, string) bool) {
		for name := range strings.FieldsSeq(fileNames) {
			if !yield(uint64(Hash(name)), name) {
				return
			}
		}
	}
}

// Files are the hashes of the names in the stock game's file check.
var Files FileHashes

// FileName returns the file or directory name with the given hash, or "" if it
// is not in the stock game. The game version, "60", is sent as a hash, too.
func FileName(hash uint32) string { return byHash[hash] }

// byHash is read-only.
var byHash = makeByHash()

func makeByHash() map[uint32]string {
	list := strings.Fields(fileNames)
	m := make(map[uint32]string, len(list))
	for _, name := range list {
		m[Hash(name)] = name
	}
	return m
}

// fileNames are the names that the file check can request, in its order.
const fileNames = `
60

scripts
App.pyc
Autoexec.pyc

scripts/ships
__init__.pyc
Akira.pyc Amagon.pyc Ambassador.pyc Asteroid.pyc Asteroid1.pyc Asteroid2.pyc
Asteroid3.pyc Asteroidh1.pyc Asteroidh2.pyc Asteroidh3.pyc BiranuStation.pyc
BirdOfPrey.pyc BombFreighter.pyc CardFacility.pyc CardFreighter.pyc
CardHybrid.pyc CardOutpost.pyc CardStarbase.pyc CardStation.pyc CommArray.pyc
CommLight.pyc Decoy.pyc DryDock.pyc E2M0Warbird.pyc Enterprise.pyc
EscapePod.pyc FedOutpost.pyc FedStarbase.pyc Freighter.pyc Galaxy.pyc Galor.pyc
GenericTemplate.pyc Geronimo.pyc Keldon.pyc KessokHeavy.pyc KessokLight.pyc
KessokMine.pyc Marauder.pyc MatanKeldon.pyc Nebula.pyc Peregrine.pyc Probe.pyc
RanKuf.pyc Shuttle.pyc Sovereign.pyc SpaceFacility.pyc Sunbuster.pyc
Transport.pyc Vorcha.pyc Warbird.pyc

Hardpoints
akira.pyc amagon.pyc ambassador.pyc asteroid.pyc asteroid1.pyc asteroid2.pyc
asteroid3.pyc asteroidh1.pyc asteroidh2.pyc asteroidh3.pyc biranustation.pyc
birdofprey.pyc bombfreighter.pyc cardfacility.pyc cardfreighter.pyc
cardhybrid.pyc cardoutpost.pyc cardstarbase.pyc cardstation.pyc commarray.pyc
commlight.pyc drydock.pyc e2m0warbird.pyc enterprise.pyc escapepod.pyc
fedoutpost.pyc fedstarbase.pyc freighter.pyc galaxy.pyc galor.pyc geronimo.pyc
keldon.pyc kessokheavy.pyc kessoklight.pyc kessokmine.pyc marauder.pyc
matankeldon.pyc nebula.pyc peregrine.pyc probe.pyc probe2.pyc rankuf.pyc
shuttle.pyc sovereign.pyc spacefacility.pyc sunbuster.pyc transport.pyc
vorcha.pyc warbird.pyc

scripts/mainmenu
CardSpecificSetup.pyc KeyboardConfig.pyc mainmenu.pyc

Scripts/Multiplayer
MissionMenusShared.pyc MissionShared.pyc Modifier.pyc MultiplayerGame.pyc
MultiplayerMenus.pyc SpeciesToShip.pyc SpeciesToSystem.pyc SpeciesToTorp.pyc

Episode
Episode.pyc

Mission1 Mission1.pyc Mission1Menus.pyc Mission1Name.pyc
Mission2 Mission2.pyc Mission2Menus.pyc Mission2Name.pyc
Mission3 Mission3.pyc Mission3Menus.pyc Mission3Name.pyc
Mission5 Mission5.pyc Mission5Menus.pyc Mission5Name.pyc StarbaseAI.pyc
`
