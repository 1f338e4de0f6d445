// What main.go and lua.c share.
#pragma once
#include <stddef.h>

// An answer is what a call returns to Lua. Go fills it in; its memory is C's, and
// is used again for the next answer.
typedef struct {
	int status;         // a status below
	char *text;         // for STATUS_TEXT the text, for STATUS_OURS the trailer
	size_t size, room;
} answer;

enum {
	STATUS_NONE,      // nothing to say: not the game's
	STATUS_TEXT,      // a text
	STATUS_OURS,      // the game's: a trailer
	STATUS_ADDRESSES, // the addresses are needed
	STATUS_LINE,      // the game's, with nothing but a text for the Info column
};

// A frame is what Wireshark knows of a datagram.
typedef struct {
	const unsigned char *data;
	int size, at, len, full;
	long long number;
	double seconds;
	int wire_len, flags;
	const char *src, *dst; // NULL if they are in the data
	int src_port, dst_port;
} frame;

enum {
	FLAG_AGAIN = 1, // the frame was shown before
	FLAG_ALL = 2,   // all fields
	FLAG_CHOSEN = 4 // the chosen fields
};

void bcdissect_name(unsigned char *address, int size, char *name);
