#include "go_asm.h"
#include "textflag.h"

// The constants of the cipher, once for each of 16 words.

#define WORDS(name, v) \
	DATA name<>+0(SB)/8, $v; \
	DATA name<>+8(SB)/8, $v; \
	DATA name<>+16(SB)/8, $v; \
	DATA name<>+24(SB)/8, $v; \
	GLOBL name<>(SB), RODATA|NOPTR, $32

WORDS(key0, 0x416C416C416C416C)
WORDS(key1, 0x6279627962796279)
WORDS(key2, 0x5275527552755275)
WORDS(key3, 0x6C656C656C656C65)
WORDS(key4, 0x7321732173217321)
WORDS(mul1, 0x4E354E354E354E35) // M, and its multiples by the number of the round
WORDS(mulBy2, 0x9C6A9C6A9C6A9C6A)
WORDS(mulBy3, 0xEA9FEA9FEA9FEA9F)
WORDS(mulBy4, 0x38D438D438D438D4)
WORDS(crossC, 0x015A015A015A015A)
WORDS(ones, 0x0001000100010001)

// A shuffle within 128 bits: exchange the bytes of each word.
DATA exchange<>+0(SB)/8, $0x0607040502030001
DATA exchange<>+8(SB)/8, $0x0E0F0C0D0A0B0809
DATA exchange<>+16(SB)/8, $0x0607040502030001
DATA exchange<>+24(SB)/8, $0x0E0F0C0D0A0B0809
GLOBL exchange<>(SB), RODATA|NOPTR, $32

// The names are those of tables.go. M is in Y0, C in Y1. Of 16 datagrams, s is
// S, z is X in both bytes, w and p are the key words of this round and of the
// one before, a is what has been combined for the key byte, r the running sum,
// t is V of the round before.

// FIRST is the first round: R = S + C*W, V = M*W + 1.
#define FIRST(s, z, w, a, r, t) \
	VPXOR   key0<>(SB), z, w; \
	VPMULLW w, Y1, t;         \
	VPADDW  t, s, r;          \
	VPMULLW w, Y0, t;         \
	VPADDW  ones<>(SB), t, t; \
	VPXOR   t, r, a

// ROUND is one of the others: R = M*(R + n) + C*(W + the W before).
#define ROUND(key, mulByN, z, w, p, a, r, t) \
	VPXOR   key<>(SB), z, p;     \
	VPXOR   t, p, p;             \
	VPADDW  p, w, t;             \
	VPMULLW t, Y1, t;            \
	VPADDW  mulByN<>(SB), t, t;  \
	VPMULLW r, Y0, r;            \
	VPADDW  t, r, r;             \
	VPXOR   r, a, a;             \
	VPMULLW p, Y0, t;            \
	VPADDW  ones<>(SB), t, t;    \
	VPXOR   t, a, a

// LAST makes the next S, deciphers the bytes of c, which are in both bytes of
// words, as then are those of the plaintext in a, and feeds them back.
#define LAST(c, s, z, w, a, r, t) \
	VPMULLW   r, Y0, s;              \
	VPMULLW   w, Y1, t;              \
	VPADDW    t, s, s;               \
	VPSHUFB   exchange<>(SB), a, t;  \
	VPXOR     t, a, a;               \
	VPXOR     c, a, a;               \
	VPXOR     a, z, z

// func decryptRows(rows *[32]byte, n int)
TEXT ·decryptRows(SB), NOSPLIT, $0-16
	MOVQ    rows+0(FP), DI
	MOVQ    n+8(FP), CX
	VMOVDQU mul1<>(SB), Y0
	VMOVDQU crossC<>(SB), Y1
	VPXOR   Y2, Y2, Y2   // s of the first 16
	VPXOR   Y3, Y3, Y3   // z
	VPXOR   Y9, Y9, Y9   // s of the others
	VPXOR   Y10, Y10, Y10 // z
	TESTQ   CX, CX
	JLE     done

loop:
	FIRST(Y2, Y3, Y4, Y6, Y7, Y8)
	FIRST(Y9, Y10, Y11, Y13, Y14, Y15)
	ROUND(key1, mul1, Y3, Y4, Y5, Y6, Y7, Y8)
	ROUND(key1, mul1, Y10, Y11, Y12, Y13, Y14, Y15)
	ROUND(key2, mulBy2, Y3, Y5, Y4, Y6, Y7, Y8)
	ROUND(key2, mulBy2, Y10, Y12, Y11, Y13, Y14, Y15)
	ROUND(key3, mulBy3, Y3, Y4, Y5, Y6, Y7, Y8)
	ROUND(key3, mulBy3, Y10, Y11, Y12, Y13, Y14, Y15)
	ROUND(key4, mulBy4, Y3, Y5, Y4, Y6, Y7, Y8)
	ROUND(key4, mulBy4, Y10, Y12, Y11, Y13, Y14, Y15)
	VMOVDQU    (DI), Y8
	VPUNPCKLBW Y8, Y8, Y5
	VPUNPCKHBW Y8, Y8, Y12
	LAST(Y5, Y2, Y3, Y4, Y6, Y7, Y8)
	LAST(Y12, Y9, Y10, Y11, Y13, Y14, Y15)

	// A byte of each word, which undoes what the unpacking did to their order.
	VPSRLW    $8, Y6, Y6
	VPSRLW    $8, Y13, Y13
	VPACKUSWB Y13, Y6, Y6
	VMOVDQU   Y6, (DI)

	ADDQ $32, DI
	DECQ CX
	JNZ  loop

done:
	VZEROUPPER
	RET

// The names of decryptPair are those of tables.go, too. X is in Z0, S in Z1 and
// Z2, the sums of the words in Z3 and Z4. K1 has the bytes of X from 128 on, K2
// the others.

// LOOK looks up each byte of X in a table of 256 bytes, of which registers hold
// the first and the third quarter.
#define LOOK(table, first, third, to) \
	VMOVDQA64 Z0, to;                         \
	VPERMI2B  (table+64)(R8), first, K2, to;  \
	VPERMI2B  (table+192)(R8), third, K1, to

// SUM makes two registers of words, E of X, and adds the product of S and a factor
// to them: R of this round. c and d are scratch.
#define SUM(e, low1, low3, high1, high3, factor, a, b, c, d) \
	LOOK(e, low1, low3, c);                \
	LOOK(e+256, high1, high3, d);          \
	VPUNPCKLBW d, c, a;                    \
	VPUNPCKHBW d, c, b;                    \
	VMOVDQU64  factor(R8), d;              \
	VPMULLW    d, Z1, c;                   \
	VPMULLW    d, Z2, d;                   \
	VPADDW     c, a, a;                    \
	VPADDW     d, b, b

// func decryptPair(a, b *[32]byte, n int, t *pairTables)
TEXT ·decryptPair(SB), NOSPLIT, $0-32
	MOVQ  a+0(FP), DI
	MOVQ  b+8(FP), SI
	MOVQ  n+16(FP), CX
	MOVQ  t+24(FP), R8
	TESTQ CX, CX
	JLE   pairDone

	VMOVDQU64 (pairTables_e2)(R8), Z12
	VMOVDQU64 (pairTables_e2+128)(R8), Z13
	VMOVDQU64 (pairTables_e2+256)(R8), Z14
	VMOVDQU64 (pairTables_e2+384)(R8), Z15
	VMOVDQU64 (pairTables_e3)(R8), Z16
	VMOVDQU64 (pairTables_e3+128)(R8), Z17
	VMOVDQU64 (pairTables_e3+256)(R8), Z18
	VMOVDQU64 (pairTables_e3+384)(R8), Z19
	VMOVDQU64 (pairTables_e4)(R8), Z20
	VMOVDQU64 (pairTables_e4+128)(R8), Z21
	VMOVDQU64 (pairTables_e4+256)(R8), Z22
	VMOVDQU64 (pairTables_e4+384)(R8), Z23
	VMOVDQU64 (pairTables_e5)(R8), Z24
	VMOVDQU64 (pairTables_e5+128)(R8), Z25
	VMOVDQU64 (pairTables_e5+256)(R8), Z26
	VMOVDQU64 (pairTables_e5+384)(R8), Z27
	VMOVDQU64 (pairTables_f)(R8), Z28
	VMOVDQU64 (pairTables_f+128)(R8), Z29
	VMOVDQU64 (pairTables_f+256)(R8), Z30
	VMOVDQU64 (pairTables_f+384)(R8), Z31
	VPXORQ    Z0, Z0, Z0
	VPXORQ    Z1, Z1, Z1
	VPXORQ    Z2, Z2, Z2

pairLoop:
	VPMOVB2M Z0, K1
	KNOTQ    K1, K2

	// R1 = S + C*W, which is shorter than by tables.
	VPUNPCKLBW Z0, Z0, Z3
	VPUNPCKHBW Z0, Z0, Z4
	VMOVDQU64  pairTables_key0(R8), Z5
	VMOVDQU64  pairTables_cross(R8), Z6
	VPXORQ     Z5, Z3, Z3
	VPXORQ     Z5, Z4, Z4
	VPMULLW    Z6, Z3, Z3
	VPMULLW    Z6, Z4, Z4
	VPADDW     Z1, Z3, Z3
	VPADDW     Z2, Z4, Z4

	SUM(pairTables_e2, Z12, Z13, Z14, Z15, pairTables_mul1, Z7, Z8, Z5, Z6)
	SUM(pairTables_e3, Z16, Z17, Z18, Z19, pairTables_mul2, Z9, Z10, Z5, Z6)
	VPTERNLOGQ $0x96, Z9, Z7, Z3 // the exclusive-or of all three
	VPTERNLOGQ $0x96, Z10, Z8, Z4
	SUM(pairTables_e4, Z20, Z21, Z22, Z23, pairTables_mul3, Z7, Z8, Z5, Z6)
	SUM(pairTables_e5, Z24, Z25, Z26, Z27, pairTables_mul4, Z9, Z10, Z5, Z6)
	VPTERNLOGQ $0x96, Z9, Z7, Z3
	VPTERNLOGQ $0x96, Z10, Z8, Z4

	// V ^ X, and the enciphered bytes
	VMOVDQU64    (pairTables_v)(R8), Z9
	VMOVDQU64    (pairTables_v+128)(R8), Z10
	LOOK(pairTables_v, Z9, Z10, Z11)
	VMOVDQU      (DI), Y5
	VINSERTI64X4 $1, (SI), Z5, Z5
	VPXORQ       Z5, Z11, Z11

	SUM(pairTables_f, Z28, Z29, Z30, Z31, pairTables_mul5, Z7, Z8, Z5, Z6)
	VMOVDQA64 Z7, Z1 // the next S
	VMOVDQA64 Z8, Z2

	// The fold gives the next X; the plaintext is the difference.
	VMOVDQU64     pairTables_low(R8), Z5
	VMOVDQU64     pairTables_high(R8), Z6
	VPERMI2B      Z4, Z3, Z5
	VPERMI2B      Z4, Z3, Z6
	VPTERNLOGQ    $0x96, Z6, Z5, Z11
	VPXORQ        Z11, Z0, Z5
	VMOVDQA64     Z11, Z0
	VMOVDQU       Y5, (DI)
	VEXTRACTI64X4 $1, Z5, (SI)

	ADDQ $32, DI
	ADDQ $32, SI
	DECQ CX
	JNZ  pairLoop

pairDone:
	VZEROUPPER
	RET

// A shuffle of 8 times 16 bytes: the first half of all 128 in turn with the
// second. It turns the seven bits of a byte's place round by one, so that three
// of them exchange the upper three with the lower four.
#define SHUFFLE(a0, a1, a2, a3, a4, a5, a6, a7, b0, b1, b2, b3, b4, b5, b6, b7) \
	VPUNPCKLBW a4, a0, b0; \
	VPUNPCKHBW a4, a0, b1; \
	VPUNPCKLBW a5, a1, b2; \
	VPUNPCKHBW a5, a1, b3; \
	VPUNPCKLBW a6, a2, b4; \
	VPUNPCKHBW a6, a2, b5; \
	VPUNPCKLBW a7, a3, b6; \
	VPUNPCKHBW a7, a3, b7

// The pointers in eight places, which begin at SI or one field behind.
#define POINTERS \
	MOVQ (place__size*0)(SI), R8;  \
	MOVQ (place__size*1)(SI), R9;  \
	MOVQ (place__size*2)(SI), R10; \
	MOVQ (place__size*3)(SI), R11; \
	MOVQ (place__size*4)(SI), R12; \
	MOVQ (place__size*5)(SI), R13; \
	MOVQ (place__size*6)(SI), DX;  \
	MOVQ (place__size*7)(SI), AX;  \
	XORL BX, BX

// func toRows(row *byte, from *place, blocks int)
TEXT ·toRows(SB), NOSPLIT, $0-24
	MOVQ row+0(FP), DI
	MOVQ from+8(FP), SI
	MOVQ blocks+16(FP), CX
	POINTERS
	TESTQ CX, CX
	JLE  toDone

toLoop:
	VMOVDQU (R8)(BX*1), X0
	VMOVDQU (R9)(BX*1), X1
	VMOVDQU (R10)(BX*1), X2
	VMOVDQU (R11)(BX*1), X3
	SHUFFLE(X0, X1, X2, X3, (R12)(BX*1), (R13)(BX*1), (DX)(BX*1), (AX)(BX*1), X8, X9, X10, X11, X12, X13, X14, X15)
	SHUFFLE(X8, X9, X10, X11, X12, X13, X14, X15, X0, X1, X2, X3, X4, X5, X6, X7)
	SHUFFLE(X0, X1, X2, X3, X4, X5, X6, X7, X8, X9, X10, X11, X12, X13, X14, X15)
	VMOVQ   X8, (DI)
	VMOVHPS X8, 32(DI)
	VMOVQ   X9, 64(DI)
	VMOVHPS X9, 96(DI)
	VMOVQ   X10, 128(DI)
	VMOVHPS X10, 160(DI)
	VMOVQ   X11, 192(DI)
	VMOVHPS X11, 224(DI)
	VMOVQ   X12, 256(DI)
	VMOVHPS X12, 288(DI)
	VMOVQ   X13, 320(DI)
	VMOVHPS X13, 352(DI)
	VMOVQ   X14, 384(DI)
	VMOVHPS X14, 416(DI)
	VMOVQ   X15, 448(DI)
	VMOVHPS X15, 480(DI)
	ADDQ    $512, DI
	ADDQ    $16, BX
	DECQ    CX
	JNZ     toLoop

toDone:
	RET

// What is in a row and the next, in turn. It reads 16 bytes of that one, of
// which it needs eight.
#define PAIR(row, x) \
	VMOVQ      (32*row)(DI), x;   \
	VPUNPCKLBW (32*row+32)(DI), x, x

// func fromRows(row *byte, to *place, blocks int)
TEXT ·fromRows(SB), NOSPLIT, $0-24
	MOVQ row+0(FP), DI
	MOVQ to+8(FP), SI
	ADDQ $place_dst, SI
	MOVQ blocks+16(FP), CX
	POINTERS
	TESTQ CX, CX
	JLE  fromDone

fromLoop:
	PAIR(0, X0)
	PAIR(2, X1)
	PAIR(4, X2)
	PAIR(6, X3)
	PAIR(8, X4)
	PAIR(10, X5)
	PAIR(12, X6)
	PAIR(14, X7)

	// Four bytes of each datagram next to each other,
	VPUNPCKLWD X1, X0, X8
	VPUNPCKHWD X1, X0, X9
	VPUNPCKLWD X3, X2, X10
	VPUNPCKHWD X3, X2, X11
	VPUNPCKLWD X5, X4, X12
	VPUNPCKHWD X5, X4, X13
	VPUNPCKLWD X7, X6, X14
	VPUNPCKHWD X7, X6, X15

	// then eight,
	VPUNPCKLDQ X10, X8, X0
	VPUNPCKHDQ X10, X8, X1
	VPUNPCKLDQ X11, X9, X2
	VPUNPCKHDQ X11, X9, X3
	VPUNPCKLDQ X14, X12, X4
	VPUNPCKHDQ X14, X12, X5
	VPUNPCKLDQ X15, X13, X6
	VPUNPCKHDQ X15, X13, X7

	// then all.
	VPUNPCKLQDQ X4, X0, X8
	VPUNPCKHQDQ X4, X0, X9
	VPUNPCKLQDQ X5, X1, X10
	VPUNPCKHQDQ X5, X1, X11
	VPUNPCKLQDQ X6, X2, X12
	VPUNPCKHQDQ X6, X2, X13
	VPUNPCKLQDQ X7, X3, X14
	VPUNPCKHQDQ X7, X3, X15

	VMOVDQU X8, (R8)(BX*1)
	VMOVDQU X9, (R9)(BX*1)
	VMOVDQU X10, (R10)(BX*1)
	VMOVDQU X11, (R11)(BX*1)
	VMOVDQU X12, (R12)(BX*1)
	VMOVDQU X13, (R13)(BX*1)
	VMOVDQU X14, (DX)(BX*1)
	VMOVDQU X15, (AX)(BX*1)
	ADDQ    $512, DI
	ADDQ    $16, BX
	DECQ    CX
	JNZ     fromLoop

fromDone:
	RET
