// Package ship holds the serialisation lists of the stock ships.
//
// A snapshot of a ship (messages 02 and 03) and the subsystem block of an
// update (1C) name no subsystem: their bytes follow a list that sender and
// receiver build from the same ship script. This package holds that list for
// every species of the unmodified game, and the other properties of a species.
// The data is read-only.
package ship
