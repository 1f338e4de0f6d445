#include "go_asm.h"
#include "textflag.h"

// Go's assembler has no multiplication of vectors, so the instructions of the
// rounds are encoded here: eight words of 16 bits each (or 16 bytes), registers
// by their numbers, the destination last.

#define MUL(m, n, d) WORD $(0x4E609C00 | m<<16 | n<<5 | d)
#define MLA(m, n, d) WORD $(0x4E609400 | m<<16 | n<<5 | d) // d + m*n
#define ADD8(m, n, d) WORD $(0x4E608400 | m<<16 | n<<5 | d)
#define XOR(m, n, d) WORD $(0x6E201C00 | m<<16 | n<<5 | d)
#define EXCHANGE(n, d) WORD $(0x4E201800 | n<<5 | d) // the bytes of each word
#define DOUBLELOW(n, d) WORD $(0x4E003800 | n<<16 | n<<5 | d) // eight bytes, each to both bytes of a word
#define DOUBLEHIGH(n, d) WORD $(0x4E007800 | n<<16 | n<<5 | d)

// The registers of the constants: the key words, M, C, 1, and the multiples of
// M by the number of the round. The first of them is M itself.

#define key0 0
#define key1 1
#define key2 2
#define key3 3
#define key4 4
#define mulBy1 5
#define crossC 6
#define one 7
#define mulBy2 8
#define mulBy3 9
#define mulBy4 10
#define wire 11

#define CONSTANT(value, register) \
	MOVD $value, R3; \
	VDUP R3, register.H8

// The names are those of tables.go. Of eight datagrams, r is the running sum, S
// at first; z is X in both bytes, a is what has been combined for the key byte,
// w the key word of the round before and t what it became: V.

// FIRST is the first round: R = S + C*W, V = M*W + 1.
#define FIRST(r, z, a, w, t) \
	XOR(key0, z, w);   \
	MLA(crossC, w, r); \
	MUL(mulBy1, w, t); \
	ADD8(one, t, t);   \
	XOR(t, r, a)

// ROUND is one of the others: R = M*(R + n) + C*(W + the W before). Its W is
// left in t and its V in w, so that the next has them the other way round.
#define ROUND(key, mulByN, r, z, a, w, t) \
	XOR(key, t, t);    \
	XOR(z, t, t);      \
	ADD8(t, w, w);     \
	MUL(mulBy1, r, r); \
	MLA(crossC, w, r); \
	ADD8(mulByN, r, r); \
	XOR(r, a, a);      \
	MUL(mulBy1, t, w); \
	ADD8(one, w, w);   \
	XOR(w, a, a)

// LAST makes the next S, deciphers the bytes of c, which are in both bytes of
// words, as then are those of the plaintext in a, and feeds them back.
#define LAST(DOUBLE, r, z, a, w, t) \
	MUL(mulBy1, r, r); \
	MLA(crossC, w, r); \
	EXCHANGE(a, t);    \
	DOUBLE(wire, w);    \
	XOR(t, a, a);      \
	XOR(w, a, a);      \
	XOR(a, z, z)

// func decryptRows(rows *[32]byte, n int)
TEXT ·decryptRows(SB), NOSPLIT, $0-16
	MOVD rows+0(FP), R0
	MOVD n+8(FP), R1
	CONSTANT(0x416C, V0)
	CONSTANT(0x6279, V1)
	CONSTANT(0x5275, V2)
	CONSTANT(0x6C65, V3)
	CONSTANT(0x7321, V4)
	CONSTANT(0x4E35, V5)
	CONSTANT(0x015A, V6)
	CONSTANT(0x0001, V7)
	CONSTANT(0x9C6A, V8)
	CONSTANT(0xEA9F, V9)
	CONSTANT(0x38D4, V10)
	VEOR V12.B16, V12.B16, V12.B16 // r and z of four times eight
	VEOR V13.B16, V13.B16, V13.B16
	VEOR V17.B16, V17.B16, V17.B16
	VEOR V18.B16, V18.B16, V18.B16
	VEOR V22.B16, V22.B16, V22.B16
	VEOR V23.B16, V23.B16, V23.B16
	VEOR V27.B16, V27.B16, V27.B16
	VEOR V28.B16, V28.B16, V28.B16
	CMP  $0, R1
	BLE  done

loop:
	FIRST(12, 13, 14, 15, 16)
	FIRST(17, 18, 19, 20, 21)
	FIRST(22, 23, 24, 25, 26)
	FIRST(27, 28, 29, 30, 31)
	ROUND(key1, mulBy1, 12, 13, 14, 15, 16)
	ROUND(key1, mulBy1, 17, 18, 19, 20, 21)
	ROUND(key1, mulBy1, 22, 23, 24, 25, 26)
	ROUND(key1, mulBy1, 27, 28, 29, 30, 31)
	ROUND(key2, mulBy2, 12, 13, 14, 16, 15)
	ROUND(key2, mulBy2, 17, 18, 19, 21, 20)
	ROUND(key2, mulBy2, 22, 23, 24, 26, 25)
	ROUND(key2, mulBy2, 27, 28, 29, 31, 30)
	ROUND(key3, mulBy3, 12, 13, 14, 15, 16)
	ROUND(key3, mulBy3, 17, 18, 19, 20, 21)
	ROUND(key3, mulBy3, 22, 23, 24, 25, 26)
	ROUND(key3, mulBy3, 27, 28, 29, 30, 31)
	ROUND(key4, mulBy4, 12, 13, 14, 16, 15)
	ROUND(key4, mulBy4, 17, 18, 19, 21, 20)
	ROUND(key4, mulBy4, 22, 23, 24, 26, 25)
	ROUND(key4, mulBy4, 27, 28, 29, 31, 30)
	VLD1 (R0), [V11.B16]
	LAST(DOUBLELOW, 12, 13, 14, 15, 16)
	LAST(DOUBLEHIGH, 17, 18, 19, 20, 21)
	ADD  $16, R0, R2
	VLD1 (R2), [V11.B16]
	LAST(DOUBLELOW, 22, 23, 24, 25, 26)
	LAST(DOUBLEHIGH, 27, 28, 29, 30, 31)

	// A byte of each word.
	VUZP1 V19.B16, V14.B16, V14.B16
	VUZP1 V29.B16, V24.B16, V15.B16
	VST1.P [V14.B16, V15.B16], 32(R0)

	SUBS $1, R1
	BNE  loop

done:
	RET

// A shuffle of 8 times 16 bytes: the first half of all 128 in turn with the
// second. It turns the seven bits of a byte's place round by one, so that three
// of them exchange the upper three with the lower four.
#define SHUFFLE(a0, a1, a2, a3, a4, a5, a6, a7, b0, b1, b2, b3, b4, b5, b6, b7) \
	VZIP1 a4.B16, a0.B16, b0.B16; \
	VZIP2 a4.B16, a0.B16, b1.B16; \
	VZIP1 a5.B16, a1.B16, b2.B16; \
	VZIP2 a5.B16, a1.B16, b3.B16; \
	VZIP1 a6.B16, a2.B16, b4.B16; \
	VZIP2 a6.B16, a2.B16, b5.B16; \
	VZIP1 a7.B16, a3.B16, b6.B16; \
	VZIP2 a7.B16, a3.B16, b7.B16

// The pointers in eight places, which begin at R1 or one field behind.
#define POINTERS \
	MOVD (place__size*0)(R1), R4;  \
	MOVD (place__size*1)(R1), R5;  \
	MOVD (place__size*2)(R1), R6;  \
	MOVD (place__size*3)(R1), R7;  \
	MOVD (place__size*4)(R1), R8;  \
	MOVD (place__size*5)(R1), R9;  \
	MOVD (place__size*6)(R1), R10; \
	MOVD (place__size*7)(R1), R11

// func toRows(row *byte, from *place, blocks int)
TEXT ·toRows(SB), NOSPLIT, $0-24
	MOVD row+0(FP), R0
	MOVD from+8(FP), R1
	MOVD blocks+16(FP), R2
	POINTERS
	MOVD $32, R3
	CMP  $0, R2
	BLE  toDone

toLoop:
	VLD1.P 16(R4), [V0.B16]
	VLD1.P 16(R5), [V1.B16]
	VLD1.P 16(R6), [V2.B16]
	VLD1.P 16(R7), [V3.B16]
	VLD1.P 16(R8), [V4.B16]
	VLD1.P 16(R9), [V5.B16]
	VLD1.P 16(R10), [V6.B16]
	VLD1.P 16(R11), [V7.B16]
	SHUFFLE(V0, V1, V2, V3, V4, V5, V6, V7, V8, V9, V10, V11, V12, V13, V14, V15)
	SHUFFLE(V8, V9, V10, V11, V12, V13, V14, V15, V0, V1, V2, V3, V4, V5, V6, V7)
	SHUFFLE(V0, V1, V2, V3, V4, V5, V6, V7, V8, V9, V10, V11, V12, V13, V14, V15)
	VST1.P V8.D[0], (R0)(R3)
	VST1.P V8.D[1], (R0)(R3)
	VST1.P V9.D[0], (R0)(R3)
	VST1.P V9.D[1], (R0)(R3)
	VST1.P V10.D[0], (R0)(R3)
	VST1.P V10.D[1], (R0)(R3)
	VST1.P V11.D[0], (R0)(R3)
	VST1.P V11.D[1], (R0)(R3)
	VST1.P V12.D[0], (R0)(R3)
	VST1.P V12.D[1], (R0)(R3)
	VST1.P V13.D[0], (R0)(R3)
	VST1.P V13.D[1], (R0)(R3)
	VST1.P V14.D[0], (R0)(R3)
	VST1.P V14.D[1], (R0)(R3)
	VST1.P V15.D[0], (R0)(R3)
	VST1.P V15.D[1], (R0)(R3)
	SUBS   $1, R2
	BNE    toLoop

toDone:
	RET

// Eight bytes of a row and of the next, in turn.
#define PAIR(row, f, x) \
	FMOVD (32*row)(R0), f;    \
	FMOVD (32*row+32)(R0), F16; \
	VZIP1 V16.B16, x.B16, x.B16

// func fromRows(row *byte, to *place, blocks int)
TEXT ·fromRows(SB), NOSPLIT, $0-24
	MOVD row+0(FP), R0
	MOVD to+8(FP), R1
	ADD  $place_dst, R1
	MOVD blocks+16(FP), R2
	POINTERS
	CMP  $0, R2
	BLE  fromDone

fromLoop:
	PAIR(0, F0, V0)
	PAIR(2, F1, V1)
	PAIR(4, F2, V2)
	PAIR(6, F3, V3)
	PAIR(8, F4, V4)
	PAIR(10, F5, V5)
	PAIR(12, F6, V6)
	PAIR(14, F7, V7)

	// Four bytes of each datagram next to each other,
	VZIP1 V1.H8, V0.H8, V8.H8
	VZIP2 V1.H8, V0.H8, V9.H8
	VZIP1 V3.H8, V2.H8, V10.H8
	VZIP2 V3.H8, V2.H8, V11.H8
	VZIP1 V5.H8, V4.H8, V12.H8
	VZIP2 V5.H8, V4.H8, V13.H8
	VZIP1 V7.H8, V6.H8, V14.H8
	VZIP2 V7.H8, V6.H8, V15.H8

	// then eight,
	VZIP1 V10.S4, V8.S4, V0.S4
	VZIP2 V10.S4, V8.S4, V1.S4
	VZIP1 V11.S4, V9.S4, V2.S4
	VZIP2 V11.S4, V9.S4, V3.S4
	VZIP1 V14.S4, V12.S4, V4.S4
	VZIP2 V14.S4, V12.S4, V5.S4
	VZIP1 V15.S4, V13.S4, V6.S4
	VZIP2 V15.S4, V13.S4, V7.S4

	// then all.
	VZIP1 V4.D2, V0.D2, V8.D2
	VZIP2 V4.D2, V0.D2, V9.D2
	VZIP1 V5.D2, V1.D2, V10.D2
	VZIP2 V5.D2, V1.D2, V11.D2
	VZIP1 V6.D2, V2.D2, V12.D2
	VZIP2 V6.D2, V2.D2, V13.D2
	VZIP1 V7.D2, V3.D2, V14.D2
	VZIP2 V7.D2, V3.D2, V15.D2

	VST1.P [V8.B16], 16(R4)
	VST1.P [V9.B16], 16(R5)
	VST1.P [V10.B16], 16(R6)
	VST1.P [V11.B16], 16(R7)
	VST1.P [V12.B16], 16(R8)
	VST1.P [V13.B16], 16(R9)
	VST1.P [V14.B16], 16(R10)
	VST1.P [V15.B16], 16(R11)
	ADD    $512, R0
	SUBS   $1, R2
	BNE    fromLoop

fromDone:
	RET
