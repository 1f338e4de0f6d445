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

// Shuffles within 128 bits: exchange the bytes of each word; put the low byte
// of each word in its high byte, too.
DATA exchange<>+0(SB)/8, $0x0607040502030001
DATA exchange<>+8(SB)/8, $0x0E0F0C0D0A0B0809
DATA exchange<>+16(SB)/8, $0x0607040502030001
DATA exchange<>+24(SB)/8, $0x0E0F0C0D0A0B0809
GLOBL exchange<>(SB), RODATA|NOPTR, $32

DATA double<>+0(SB)/8, $0x0606040402020000
DATA double<>+8(SB)/8, $0x0E0E0C0C0A0A0808
DATA double<>+16(SB)/8, $0x0606040402020000
DATA double<>+24(SB)/8, $0x0E0E0C0C0A0A0808
GLOBL double<>(SB), RODATA|NOPTR, $32

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

// LAST makes the next S, deciphers the bytes at at, which become words with
// the plaintext in both bytes in a, and feeds them back.
#define LAST(at, s, z, w, a, r, t) \
	VPMULLW   r, Y0, s;              \
	VPMULLW   w, Y1, t;              \
	VPADDW    t, s, s;               \
	VPSHUFB   exchange<>(SB), a, t;  \
	VPXOR     t, a, a;               \
	VPMOVZXBW at, t;                 \
	VPSHUFB   double<>(SB), t, t;    \
	VPXOR     t, a, a;               \
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
	LAST((DI), Y2, Y3, Y4, Y6, Y7, Y8)
	LAST(16(DI), Y9, Y10, Y11, Y13, Y14, Y15)

	// A byte of each word, in the order in which they came.
	VPSRLW    $8, Y6, Y6
	VPSRLW    $8, Y13, Y13
	VPACKUSWB Y13, Y6, Y6
	VPERMQ    $0xD8, Y6, Y6
	VMOVDQU   Y6, (DI)

	ADDQ $32, DI
	DECQ CX
	JNZ  loop

done:
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

#define FORTH SHUFFLE(X0, X1, X2, X3, X4, X5, X6, X7, X8, X9, X10, X11, X12, X13, X14, X15)
#define BACK SHUFFLE(X8, X9, X10, X11, X12, X13, X14, X15, X0, X1, X2, X3, X4, X5, X6, X7)

#define POINTERS \
	MOVQ (SI), R8;     \
	MOVQ 8(SI), R9;    \
	MOVQ 16(SI), R10;  \
	MOVQ 24(SI), R11;  \
	MOVQ 32(SI), R12;  \
	MOVQ 40(SI), R13;  \
	MOVQ 48(SI), DX;   \
	MOVQ 56(SI), AX;   \
	XORL BX, BX

// func toRows(row *byte, src *[8]*byte, blocks int)
TEXT ·toRows(SB), NOSPLIT, $0-24
	MOVQ row+0(FP), DI
	MOVQ src+8(FP), SI
	MOVQ blocks+16(FP), CX
	POINTERS
	TESTQ CX, CX
	JLE  toDone

toLoop:
	VMOVDQU (R8)(BX*1), X0
	VMOVDQU (R9)(BX*1), X1
	VMOVDQU (R10)(BX*1), X2
	VMOVDQU (R11)(BX*1), X3
	VMOVDQU (R12)(BX*1), X4
	VMOVDQU (R13)(BX*1), X5
	VMOVDQU (DX)(BX*1), X6
	VMOVDQU (AX)(BX*1), X7
	FORTH
	BACK
	FORTH
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

// func fromRows(row *byte, dst *[8]*byte, blocks int)
TEXT ·fromRows(SB), NOSPLIT, $0-24
	MOVQ row+0(FP), DI
	MOVQ dst+8(FP), SI
	MOVQ blocks+16(FP), CX
	POINTERS
	TESTQ CX, CX
	JLE  fromDone

fromLoop:
	VMOVQ   (DI), X0
	VMOVHPS 32(DI), X0, X0
	VMOVQ   64(DI), X1
	VMOVHPS 96(DI), X1, X1
	VMOVQ   128(DI), X2
	VMOVHPS 160(DI), X2, X2
	VMOVQ   192(DI), X3
	VMOVHPS 224(DI), X3, X3
	VMOVQ   256(DI), X4
	VMOVHPS 288(DI), X4, X4
	VMOVQ   320(DI), X5
	VMOVHPS 352(DI), X5, X5
	VMOVQ   384(DI), X6
	VMOVHPS 416(DI), X6, X6
	VMOVQ   448(DI), X7
	VMOVHPS 480(DI), X7, X7
	FORTH
	BACK
	FORTH
	BACK
	VMOVDQU X0, (R8)(BX*1)
	VMOVDQU X1, (R9)(BX*1)
	VMOVDQU X2, (R10)(BX*1)
	VMOVDQU X3, (R11)(BX*1)
	VMOVDQU X4, (R12)(BX*1)
	VMOVDQU X5, (R13)(BX*1)
	VMOVDQU X6, (DX)(BX*1)
	VMOVDQU X7, (AX)(BX*1)
	ADDQ    $512, DI
	ADDQ    $16, BX
	DECQ    CX
	JNZ     fromLoop

fromDone:
	RET
