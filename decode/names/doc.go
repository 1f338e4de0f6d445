// Package names gives names to numbers: to the values of enumerations and to
// the hashes that stand for file names. Names are lower case but for proper
// names, and are meant for people, filters and JSON alike. Nothing here changes
// after the program has started.
package names
