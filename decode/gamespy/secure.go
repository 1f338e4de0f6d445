package gamespy

import "encoding/base64"

// Key is the secret that the game's hosts share with the master server.
const Key = "Nm3aZ9"

// Validate returns the response to the challenge of a \secure\ query. It is RC4
// with a modified output stage: the first index also advances by the
// challenge's byte. The result is base64 of whole groups of three bytes, padded
// with zeros. With an empty key the RC4 state remains the identity.
func Validate(key, challenge string) string {
	var s [256]byte
	for i := range s {
		s[i] = byte(i)
	}
	if len(key) > 0 {
		var j byte
		for i := range s {
			j += s[i] + key[i%len(key)]
			s[i], s[j] = s[j], s[i]
		}
	}
	out := make([]byte, (len(challenge)+2)/3*3)
	var i, j byte
	for n := range len(challenge) {
		i += challenge[n] + 1
		j += s[i]
		s[i], s[j] = s[j], s[i]
		out[n] = challenge[n] ^ s[s[i]+s[j]]
	}
	return base64.StdEncoding.EncodeToString(out)
}
