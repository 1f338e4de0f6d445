// Package ship holds the serialisation lists of the stock ships.
//
// A snapshot of a ship (messages 02 and 03) and the subsystem block of an
// update (1C) name no subsystem: their bytes follow a list that sender and
// receiver build from the same ship script. This package is that list for
// every species of the unmodified game, with what else depends on the species
// alone. It is data: nothing here changes, and callers must not change what
// they are given.
package ship
