	.file	"<string>"
	.section	.rodata.cst8,"aM",@progbits,8
	.p2align	3, 0x0
.LCPI0_0:
	.quad	0x7fffffffffffffff
.LCPI0_1:
	.quad	0x4338000000000000
.LCPI0_2:
	.quad	0x3fe45f306dc9c883
.LCPI0_3:
	.quad	0xbff921fb54442d18
.LCPI0_4:
	.quad	0xbc91a62633145c06
.LCPI0_5:
	.quad	0xb94c1cd129024e08
.LCPI0_6:
	.quad	0xbfc5555555555548
.LCPI0_7:
	.quad	0x3f8111111110f730
.LCPI0_8:
	.quad	0xbf2a01a019be91ce
.LCPI0_9:
	.quad	0x3ec71de355511af9
.LCPI0_10:
	.quad	0xbe5ae5e4b57ef65b
.LCPI0_11:
	.quad	0x3de5d8b4164843fc
.LCPI0_12:
	.quad	0x3fa555555555554b
.LCPI0_13:
	.quad	0xbf56c16c16c15014
.LCPI0_14:
	.quad	0x3efa01a019c8ef62
.LCPI0_15:
	.quad	0xbe927e4f7f1613f9
.LCPI0_16:
	.quad	0x3e21ee9dba5fb8a9
.LCPI0_17:
	.quad	0xbda8fa66b1e1b8ac
.LCPI0_18:
	.quad	0xbfe0000000000000
.LCPI0_19:
	.quad	0x3ff0000000000000
.LCPI0_20:
	.quad	-9223372036854775808
	.text
	.globl	cut0
	.p2align	4
	.type	cut0,@function
cut0:
	leaq	.Loffs+44(%rip), %rax
	xorl	%ecx, %ecx
	vbroadcastsd	.LCPI0_1(%rip), %zmm0
	vbroadcastsd	.LCPI0_17(%rip), %zmm11
	leaq	.Lys(%rip), %rdx
	vbroadcastsd	.LCPI0_19(%rip), %zmm19
	vpbroadcastq	.LCPI0_20(%rip), %zmm20
	.p2align	4
.LBB0_1:
	movl	-44(%rax), %r8d
	movl	-32(%rax), %r9d
	movl	-20(%rax), %r10d
	movl	-8(%rax), %r11d
	vmovapd	(%rdi,%r8), %zmm1
	vmovapd	(%rdi,%r9), %zmm2
	vmovapd	(%rdi,%r10), %zmm3
	vmovapd	(%rdi,%r11), %zmm4
	vaddpd	(%rdx,%rcx,8){1to8}, %zmm1, %zmm26
	vaddpd	8(%rdx,%rcx,8){1to8}, %zmm2, %zmm25
	vaddpd	16(%rdx,%rcx,8){1to8}, %zmm3, %zmm22
	vaddpd	24(%rdx,%rcx,8){1to8}, %zmm4, %zmm21
	vbroadcastsd	.LCPI0_0(%rip), %zmm2
	vandpd	%zmm2, %zmm26, %zmm10
	vandpd	%zmm2, %zmm25, %zmm4
	vandpd	%zmm2, %zmm22, %zmm1
	vandpd	%zmm2, %zmm21, %zmm7
	vbroadcastsd	.LCPI0_2(%rip), %zmm23
	vmovapd	%zmm23, %zmm27
	vfmadd213pd	%zmm0, %zmm10, %zmm27
	vmovapd	%zmm23, %zmm28
	vmovapd	%zmm23, %zmm24
	vfmadd213pd	%zmm0, %zmm4, %zmm28
	vfmadd213pd	%zmm0, %zmm1, %zmm24
	vfmadd213pd	%zmm0, %zmm7, %zmm23
	vsubpd	%zmm0, %zmm27, %zmm2
	vsubpd	%zmm0, %zmm28, %zmm3
	vsubpd	%zmm0, %zmm24, %zmm6
	vsubpd	%zmm0, %zmm23, %zmm8
	vbroadcastsd	.LCPI0_3(%rip), %zmm9
	vfmadd231pd	%zmm9, %zmm2, %zmm10
	vfmadd231pd	%zmm9, %zmm3, %zmm4
	vfmadd231pd	%zmm9, %zmm6, %zmm1
	vfmadd231pd	%zmm9, %zmm8, %zmm7
	vbroadcastsd	.LCPI0_4(%rip), %zmm9
	vfmadd231pd	%zmm9, %zmm2, %zmm10
	vfmadd231pd	%zmm9, %zmm3, %zmm4
	vfmadd231pd	%zmm9, %zmm6, %zmm1
	vfmadd231pd	%zmm9, %zmm8, %zmm7
	vbroadcastsd	.LCPI0_5(%rip), %zmm9
	vfmadd231pd	%zmm2, %zmm9, %zmm10
	vfmadd231pd	%zmm3, %zmm9, %zmm4
	vfmadd231pd	%zmm6, %zmm9, %zmm1
	vfmadd231pd	%zmm8, %zmm9, %zmm7
	vmulpd	%zmm10, %zmm10, %zmm3
	vmulpd	%zmm4, %zmm4, %zmm2
	vmulpd	%zmm1, %zmm1, %zmm31
	vmulpd	%zmm7, %zmm7, %zmm30
	vmulpd	%zmm3, %zmm10, %zmm8
	vmulpd	%zmm2, %zmm4, %zmm13
	vmulpd	%zmm31, %zmm1, %zmm17
	vmulpd	%zmm3, %zmm3, %zmm9
	vbroadcastsd	.LCPI0_9(%rip), %zmm16
	vmovapd	%zmm16, %zmm6
	vbroadcastsd	.LCPI0_11(%rip), %zmm18
	vmovapd	%zmm18, %zmm29
	vbroadcastsd	.LCPI0_8(%rip), %zmm12
	vfmadd213pd	%zmm12, %zmm3, %zmm6
	vbroadcastsd	.LCPI0_10(%rip), %zmm14
	vfmadd213pd	%zmm14, %zmm3, %zmm29
	vfmadd213pd	%zmm6, %zmm9, %zmm29
	vbroadcastsd	.LCPI0_7(%rip), %zmm15
	vmovapd	%zmm15, %zmm6
	vbroadcastsd	.LCPI0_6(%rip), %zmm5
	vfmadd213pd	%zmm5, %zmm3, %zmm6
	vfmadd213pd	%zmm6, %zmm9, %zmm29
	vmulpd	%zmm2, %zmm2, %zmm6
	vfmadd213pd	%zmm10, %zmm8, %zmm29
	vmovapd	%zmm16, %zmm8
	vfmadd213pd	%zmm12, %zmm2, %zmm8
	vmovapd	%zmm18, %zmm10
	vfmadd213pd	%zmm14, %zmm2, %zmm10
	vfmadd213pd	%zmm8, %zmm6, %zmm10
	vmovapd	%zmm15, %zmm8
	vfmadd213pd	%zmm5, %zmm2, %zmm8
	vfmadd213pd	%zmm8, %zmm6, %zmm10
	vmovapd	%zmm16, %zmm8
	vfmadd213pd	%zmm4, %zmm13, %zmm10
	vmulpd	%zmm31, %zmm31, %zmm13
	vfmadd213pd	%zmm12, %zmm31, %zmm8
	vmovapd	%zmm18, %zmm4
	vfmadd213pd	%zmm14, %zmm31, %zmm4
	vfmadd213pd	%zmm8, %zmm13, %zmm4
	vmovapd	%zmm15, %zmm8
	vfmadd213pd	%zmm5, %zmm31, %zmm8
	vfmadd213pd	%zmm8, %zmm13, %zmm4
	vmulpd	%zmm30, %zmm30, %zmm8
	vfmadd213pd	%zmm1, %zmm17, %zmm4
	vfmadd213pd	%zmm12, %zmm30, %zmm16
	vfmadd213pd	%zmm14, %zmm30, %zmm18
	vfmadd213pd	%zmm16, %zmm8, %zmm18
	vfmadd213pd	%zmm5, %zmm30, %zmm15
	vfmadd213pd	%zmm15, %zmm8, %zmm18
	vmulpd	%zmm30, %zmm7, %zmm16
	vfmadd213pd	%zmm7, %zmm16, %zmm18
	vbroadcastsd	.LCPI0_15(%rip), %zmm15
	vmovapd	%zmm15, %zmm16
	vbroadcastsd	.LCPI0_14(%rip), %zmm14
	vfmadd213pd	%zmm14, %zmm3, %zmm16
	vmovapd	%zmm11, %zmm7
	vbroadcastsd	.LCPI0_16(%rip), %zmm17
	vfmadd213pd	%zmm17, %zmm3, %zmm7
	vfmadd213pd	%zmm16, %zmm9, %zmm7
	vbroadcastsd	.LCPI0_13(%rip), %zmm12
	vmovapd	%zmm12, %zmm16
	vbroadcastsd	.LCPI0_12(%rip), %zmm5
	vfmadd213pd	%zmm5, %zmm3, %zmm16
	vfmadd213pd	%zmm16, %zmm9, %zmm7
	vmovapd	%zmm15, %zmm16
	vmovapd	%zmm11, %zmm9
	vfmadd213pd	%zmm14, %zmm2, %zmm16
	vfmadd213pd	%zmm17, %zmm2, %zmm9
	vfmadd213pd	%zmm16, %zmm6, %zmm9
	vmovapd	%zmm12, %zmm16
	vfmadd213pd	%zmm5, %zmm2, %zmm16
	vfmadd213pd	%zmm16, %zmm6, %zmm9
	vmovapd	%zmm15, %zmm6
	vfmadd213pd	%zmm14, %zmm31, %zmm6
	vmovapd	%zmm11, %zmm16
	vfmadd213pd	%zmm17, %zmm31, %zmm16
	vfmadd213pd	%zmm6, %zmm13, %zmm16
	vmovapd	%zmm12, %zmm6
	vfmadd213pd	%zmm5, %zmm31, %zmm6
	vfmadd213pd	%zmm6, %zmm13, %zmm16
	vmovapd	%zmm15, %zmm13
	vfmadd213pd	%zmm14, %zmm30, %zmm13
	vmovapd	%zmm11, %zmm6
	vfmadd213pd	%zmm17, %zmm30, %zmm6
	vfmadd213pd	%zmm13, %zmm8, %zmm6
	vmovapd	%zmm12, %zmm13
	vfmadd213pd	%zmm5, %zmm30, %zmm13
	vfmadd213pd	%zmm13, %zmm8, %zmm6
	vbroadcastsd	.LCPI0_18(%rip), %zmm5
	vfmadd213pd	%zmm5, %zmm3, %zmm7
	vfmadd213pd	%zmm19, %zmm3, %zmm7
	vfmadd213pd	%zmm5, %zmm2, %zmm9
	vfmadd213pd	%zmm5, %zmm31, %zmm16
	vfmadd213pd	%zmm5, %zmm30, %zmm6
	vfmadd213pd	%zmm19, %zmm2, %zmm9
	vfmadd213pd	%zmm19, %zmm31, %zmm16
	vpsllq	$63, %zmm27, %zmm2
	vfmadd213pd	%zmm19, %zmm30, %zmm6
	vpsllq	$63, %zmm28, %zmm3
	vpsllq	$62, %zmm27, %zmm8
	vpsllq	$62, %zmm28, %zmm13
	vpmovq2m	%zmm2, %k2
	vpmovq2m	%zmm3, %k1
	vblendmpd	%zmm7, %zmm29, %zmm27 {%k2}
	vpxorq	%zmm26, %zmm8, %zmm26
	vpternlogq	$108, %zmm20, %zmm27, %zmm26
	vblendmpd	%zmm9, %zmm10, %zmm27 {%k1}
	vpxorq	%zmm25, %zmm13, %zmm25
	vpternlogq	$108, %zmm20, %zmm27, %zmm25
	vpsllq	$63, %zmm24, %zmm27
	vmovapd	%zmm29, %zmm7 {%k2}
	vpsllq	$63, %zmm23, %zmm28
	vpmovq2m	%zmm27, %k2
	vpmovq2m	%zmm28, %k3
	vmovapd	%zmm10, %zmm9 {%k1}
	vblendmpd	%zmm16, %zmm4, %zmm10 {%k2}
	vmovapd	%zmm4, %zmm16 {%k2}
	vblendmpd	%zmm6, %zmm18, %zmm4 {%k3}
	vmovapd	%zmm18, %zmm6 {%k3}
	vpsllq	$62, %zmm24, %zmm1
	vpxorq	%zmm22, %zmm1, %zmm22
	vpternlogq	$108, %zmm20, %zmm10, %zmm22
	vpxorq	%zmm2, %zmm8, %zmm2
	vpxorq	%zmm3, %zmm13, %zmm3
	vpxorq	%zmm27, %zmm1, %zmm1
	vpsllq	$62, %zmm23, %zmm8
	vpxorq	%zmm21, %zmm8, %zmm10
	vpternlogq	$108, %zmm20, %zmm4, %zmm10
	vpxorq	%zmm28, %zmm8, %zmm4
	vpternlogq	$108, %zmm20, %zmm7, %zmm2
	vpternlogq	$108, %zmm20, %zmm9, %zmm3
	vpternlogq	$108, %zmm20, %zmm16, %zmm1
	vpternlogq	$108, %zmm20, %zmm6, %zmm4
	movl	-40(%rax), %r8d
	vmovdqa64	%zmm26, (%rsi,%r8)
	movl	-28(%rax), %r8d
	vmovdqa64	%zmm25, (%rsi,%r8)
	movl	-16(%rax), %r8d
	vmovdqa64	%zmm22, (%rsi,%r8)
	movl	-4(%rax), %r8d
	vmovdqa64	%zmm10, (%rsi,%r8)
	movl	-36(%rax), %r8d
	vmovdqa64	%zmm2, (%rsi,%r8)
	movl	-24(%rax), %r8d
	vmovdqa64	%zmm3, (%rsi,%r8)
	movl	-12(%rax), %r8d
	vmovdqa64	%zmm1, (%rsi,%r8)
	movl	(%rax), %r8d
	vmovdqa64	%zmm4, (%rsi,%r8)
	addq	$4, %rcx
	addq	$48, %rax
	cmpq	$48, %rcx
	jb	.LBB0_1
	vzeroupper
	retq
.Lfunc_end0:
	.size	cut0, .Lfunc_end0-cut0

	.type	.Loffs,@object
	.section	.rodata,"a",@progbits
	.p2align	4, 0x0
.Loffs:
	.long	0
	.long	3072
	.long	3136
	.long	64
	.long	3200
	.long	3264
	.long	128
	.long	3328
	.long	3392
	.long	192
	.long	3456
	.long	3520
	.long	256
	.long	3584
	.long	3648
	.long	320
	.long	3712
	.long	3776
	.long	384
	.long	3840
	.long	3904
	.long	448
	.long	3968
	.long	4032
	.long	512
	.long	4096
	.long	4160
	.long	576
	.long	4224
	.long	4288
	.long	640
	.long	4352
	.long	4416
	.long	704
	.long	4480
	.long	4544
	.long	768
	.long	4608
	.long	4672
	.long	832
	.long	4736
	.long	4800
	.long	896
	.long	4864
	.long	4928
	.long	960
	.long	4992
	.long	5056
	.long	1024
	.long	5120
	.long	5184
	.long	1088
	.long	5248
	.long	5312
	.long	1152
	.long	5376
	.long	5440
	.long	1216
	.long	5504
	.long	5568
	.long	1280
	.long	5632
	.long	5696
	.long	1344
	.long	5760
	.long	5824
	.long	1408
	.long	5888
	.long	5952
	.long	1472
	.long	6016
	.long	6080
	.long	1536
	.long	6144
	.long	6208
	.long	1600
	.long	6272
	.long	6336
	.long	1664
	.long	6400
	.long	6464
	.long	1728
	.long	6528
	.long	6592
	.long	1792
	.long	6656
	.long	6720
	.long	1856
	.long	6784
	.long	6848
	.long	1920
	.long	6912
	.long	6976
	.long	1984
	.long	7040
	.long	7104
	.long	2048
	.long	7168
	.long	7232
	.long	2112
	.long	7296
	.long	7360
	.long	2176
	.long	7424
	.long	7488
	.long	2240
	.long	7552
	.long	7616
	.long	2304
	.long	7680
	.long	7744
	.long	2368
	.long	7808
	.long	7872
	.long	2432
	.long	7936
	.long	8000
	.long	2496
	.long	8064
	.long	8128
	.long	2560
	.long	8192
	.long	8256
	.long	2624
	.long	8320
	.long	8384
	.long	2688
	.long	8448
	.long	8512
	.long	2752
	.long	8576
	.long	8640
	.long	2816
	.long	8704
	.long	8768
	.long	2880
	.long	8832
	.long	8896
	.long	2944
	.long	8960
	.long	9024
	.long	3008
	.long	9088
	.long	9152
	.size	.Loffs, 576

	.type	.Lys,@object
	.p2align	4, 0x0
.Lys:
	.zero	384
	.size	.Lys, 384

	.section	".note.GNU-stack","",@progbits
