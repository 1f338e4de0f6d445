// Not part of the library: package names maps numbers to names: the values of
// enumerations and the hashes of file names. Names are lower case except for
// proper names, and are the same for people, filters and JSON. All tables are
// immutable.
package names
