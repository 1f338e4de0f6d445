package device

// LINKTYPE numbers, as in capture files.
const (
	linkEthernet = 1
	linkRaw      = 101
	linkLoop     = 108
	linkSLL2     = 276
)
