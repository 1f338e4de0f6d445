// Package ship has the lists of subsystems of the stock ships.
//
// The snapshot of a new ship and the subsystem block of an update do not name
// subsystems. Their bytes follow a list that sender and receiver build from the
// same ship script. This package has that list for every species of the
// unmodified game, and the other properties of a species. The data is
// read-only.
package ship
