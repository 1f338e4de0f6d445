package cipher

// useRows is true, since all these processors have vectors.
const useRows = true
