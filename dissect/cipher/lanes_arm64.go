package cipher

// useRows is true: each of these processors has vectors.
const useRows = true
