package suite

import (
	"encoding/hex"
	"fmt"

	"github.com/bcdissect/bcdissect/decode"
	"github.com/bcdissect/bcdissect/decode/msg"
	"github.com/bcdissect/bcdissect/decode/names"
)

// unhex decodes constants of this package.
func unhex(text string) []byte {
	b, err := hex.DecodeString(text)
	if err != nil {
		panic("suite: " + err.Error()) // a test decodes all of them
	}
	return b
}

// akira and birdOfPrey are creations of ships in the form of a stock client.
// They differ in species and subsystems.
const (
	akira = "03000208800000ffffff3f010000b042000084c2000092c2f54a6f3ffe8c963e84e34b3e38784e3c0000000000000005" +
		"4361647932064d756c746931ffff64ffffffffffffff64ffffffffffff64ffffffffffffffffff646001ffffff64ffff" +
		"ffffffffff6400ff64ffffff6401ff"
	birdOfPrey = "03000208800000ffffff3f060000b042000084c2000092c2f54a6f3ffe8c963e84e34b3e38784e3c0000000000000005" +
		"4361647932064d756c746931" + // hull, shields, core, cannons, torpedoes, impulse, warp, cloak, sensors, repair
		"ff" + "ff64ffffffffffff" + "ffffff" + "ffffff6460" + "ffff6400" + "ffff64" + "ffffff64" + "ff64" + "ff64" + "ff64"
)

// Answers of a stock installation to the rounds of hashes. The answer to round
// 2 is only partly known.
const (
	answer0  = "210043e20c7e2fcbaf4d010077b63e3768a7a0f800"
	answer1  = "21012fcbaf4d0100a1e601854900931700"
	answer3  = "21035d4709340400" + "8b6646587c740989" + "9dd27043c1bb58b8" + "a29fdde9add08c2c" + "231d4db5a730b12d" + "00"
	answerFF = "21ff3fd1948709002d71112c8f73ce8685c0a46782a7615929a72508c733ffac378d1fcb319c5ba54807af443efa19dae930411f" +
		"715057f5e58adec5740edc097bf253fcf2ad198da29fdde97d1f456f01a52bc883020086262e71c73d39b2a29fdde9808da79b04bc3ad6" +
		"8808a27d585138ed72dae8f216040038d95b413a08a7de6c514002e98e33c18b815963cb53475ca29fdde9ff89534d00040037b0ea889e" +
		"f382e6e7cd32ea658b141e94e2fea6fd042641a29fdde9ff89554d0004001564fca4cfe48a8f34f0f358187ad535dd3e4213efc9064aa2" +
		"9fdde9ff89574d0005001c4bf66db154b3a33d4f0b9d0b6a13660b23277b8367c470e243d467976b0628a29fdde9ff895b4d00"
)

// filesInShips is the number of files in scripts/ships, which includes the
// folder Hardpoints.
const filesInShips = 51

// answer returns the hashes of the files of a round.
func (t *T) answer(round uint8) *msg.ChecksumResponse {
	if m := t.r.o.Answers[round]; m != nil {
		return m
	}
	return answer(round)
}

// answer returns the hashes of a stock installation. In round 2 they are hashes
// of invented files, as many as there are, so that the answer is sent in
// fragments.
func answer(round uint8) *msg.ChecksumResponse {
	if round == 2 {
		files := func(prefix string) (list []msg.ChecksumFile) {
			for i := range filesInShips {
				name := fmt.Sprintf("%s%d.pyc", prefix, i)
				list = append(list, msg.ChecksumFile{Name: names.Hash(name), Content: names.FileHash([]byte(name))})
			}
			return list
		}
		m := &msg.ChecksumResponse{Round: round, Found: true, DirHash: names.Hash("scripts/ships")}
		m.Tree = msg.ChecksumTree{
			Files: files("conform"), Subdirs: []uint32{names.Hash("Hardpoints")}, Trees: []msg.ChecksumTree{{Files: files("hardpoint")}},
		}
		return m
	}
	text, ok := map[uint8]string{0: answer0, 1: answer1, 3: answer3, msg.LastRound: answerFF}[round]
	if !ok {
		return &msg.ChecksumResponse{Round: round} // the host asks for more rounds than the game
	}
	m, _ := decode.NewDecoder().Read(catalog().Lookup(msg.OpChecksumResponse), unhex(text), decode.Stock, nil).Message.(*msg.ChecksumResponse)
	return m
}

// StockAnswer returns the hashes of a stock installation, as the suite's
// clients send them. In round 2 they are invented unless the suite knows them.
func StockAnswer(round uint8) *msg.ChecksumResponse { return answer(round) }

// answerBody returns the answer of a round as a message.
func (t *T) answerBody(round uint8) []byte { return encode(msg.OpChecksumResponse, t.answer(round)) }
