	testq	%rdx, %rdx
	movq	%rsp, %rbp
	andq	$-64, %rsp
	subq	$2048, %rsp
	vmovapd	54144(%rdi), %zmm0
	vbroadcastsd	.LCPI0_0(%rip), %zmm1
	vmovapd	53952(%rdi), %zmm2
	vfmadd231pd	%zmm1, %zmm0, %zmm2
	vmovapd	54080(%rdi), %zmm3
	vfnmadd213pd	53824(%rdi), %zmm3, %zmm1
	vmovapd	13888(%rdi), %zmm4
	vmovapd	13952(%rdi), %zmm5
	vmovapd	54016(%rdi), %zmm6
	vmulpd	%zmm6, %zmm5, %zmm7
	vfmsub231pd	%zmm3, %zmm4, %zmm7
	vfmadd213pd	25600(%rdi), %zmm5, %zmm3
	vfmadd231pd	%zmm6, %zmm4, %zmm3
	vsubpd	25664(%rdi), %zmm7, %zmm27
	vmovapd	25472(%rdi), %zmm6
	vfmadd231pd	%zmm2, %zmm5, %zmm6
	vmovapd	53888(%rdi), %zmm7
	vfmadd231pd	%zmm7, %zmm4, %zmm6
	vfnmadd213pd	25536(%rdi), %zmm5, %zmm7
	vfmadd231pd	%zmm2, %zmm4, %zmm7
	vaddpd	25408(%rdi), %zmm1, %zmm1
	vmovapd	38208(%rdi), %zmm2
	vfmadd132pd	%zmm27, %zmm0, %zmm2
	vfmadd231pd	38272(%rdi), %zmm3, %zmm2
	vmulpd	37760(%rdi), %zmm7, %zmm4
	vfmadd231pd	38144(%rdi), %zmm6, %zmm4
	vfmadd231pd	35264(%rdi), %zmm1, %zmm4
	vaddpd	%zmm4, %zmm2, %zmm2
	vmovapd	35200(%rdi), %zmm4
	vsubpd	%zmm2, %zmm4, %zmm2
	vmovapd	%zmm2, 1920(%rsp)
	vaddpd	%zmm2, %zmm0, %zmm0
	vbroadcastsd	.LCPI0_1(%rip), %zmm2
	vfmadd231pd	%zmm2, %zmm0, %zmm7
	vfnmadd213pd	%zmm1, %zmm27, %zmm2
	vmovapd	14016(%rdi), %zmm1
	vmovapd	14080(%rdi), %zmm4
	vmulpd	%zmm3, %zmm4, %zmm5
	vfmsub231pd	%zmm27, %zmm1, %zmm5
	vfmadd213pd	26304(%rdi), %zmm4, %zmm27
	vfmadd231pd	%zmm3, %zmm1, %zmm27
	vsubpd	26368(%rdi), %zmm5, %zmm5
	vmovapd	%zmm5, 1856(%rsp)
	vmovapd	26176(%rdi), %zmm3
	vfmadd231pd	%zmm7, %zmm4, %zmm3
	vfmadd231pd	%zmm6, %zmm1, %zmm3
	vfnmadd213pd	26240(%rdi), %zmm4, %zmm6
	vfmadd231pd	%zmm7, %zmm1, %zmm6
	vaddpd	26112(%rdi), %zmm2, %zmm1
	vmulpd	54976(%rdi), %zmm5, %zmm2
	vfmadd231pd	54912(%rdi), %zmm27, %zmm2
	vaddpd	%zmm0, %zmm2, %zmm2
	vmulpd	38464(%rdi), %zmm6, %zmm4
	vfmadd231pd	55040(%rdi), %zmm3, %zmm4
	vfmadd231pd	38400(%rdi), %zmm1, %zmm4
	vaddpd	%zmm4, %zmm2, %zmm2
	vmovapd	38336(%rdi), %zmm4
	vsubpd	%zmm2, %zmm4, %zmm2
	vmovapd	%zmm2, 1792(%rsp)
	vaddpd	%zmm2, %zmm0, %zmm0
	vmovapd	16640(%rdi), %zmm2
	vmovapd	16704(%rdi), %zmm4
	vmulpd	%zmm0, %zmm4, %zmm5
	vfmsub231pd	%zmm27, %zmm2, %zmm5
	vmovapd	%zmm5, 1728(%rsp)
	vmulpd	%zmm3, %zmm4, %zmm3
	vfmadd231pd	%zmm1, %zmm2, %zmm3
	vmovapd	%zmm3, 1664(%rsp)
	vfmadd213pd	26880(%rdi), %zmm4, %zmm27
	vfmadd231pd	%zmm0, %zmm2, %zmm27
	vmovapd	14208(%rdi), %zmm0
	vmovapd	9856(%rdi), %zmm1
	vmovapd	9920(%rdi), %zmm23
	vmovapd	9984(%rdi), %zmm2
	vmulpd	%zmm1, %zmm0, %zmm3
	vmovapd	14144(%rdi), %zmm4
	vfmsub231pd	%zmm23, %zmm4, %zmm3
	vmovapd	53696(%rdi), %zmm5
	vmulpd	%zmm5, %zmm0, %zmm31
	vmovapd	53632(%rdi), %zmm6
	vfmadd231pd	%zmm6, %zmm4, %zmm31
	vmulpd	%zmm6, %zmm0, %zmm6
	vfmsub231pd	%zmm5, %zmm4, %zmm6
	vfmadd213pd	27328(%rdi), %zmm0, %zmm23
	vfmadd231pd	%zmm1, %zmm4, %zmm23
	vsubpd	27392(%rdi), %zmm3, %zmm0
	vmovapd	43648(%rdi), %zmm1
	vfmadd132pd	%zmm0, %zmm2, %zmm1
	vfmadd231pd	43584(%rdi), %zmm23, %zmm1
	vmulpd	44160(%rdi), %zmm6, %zmm3
	vfmadd231pd	43712(%rdi), %zmm31, %zmm3
	vmovapd	53760(%rdi), %zmm4
	vfmadd231pd	54720(%rdi), %zmm4, %zmm3
	vaddpd	%zmm3, %zmm1, %zmm1
	vmovapd	54784(%rdi), %zmm3
	vbroadcastsd	.LCPI0_6(%rip), %zmm5
	vsubpd	%zmm1, %zmm3, %zmm1
	vmovapd	%zmm1, 1600(%rsp)
	vaddpd	%zmm1, %zmm2, %zmm1
	vfnmadd231pd	%zmm5, %zmm0, %zmm31
	vfmadd231pd	%zmm5, %zmm23, %zmm6
	vmovapd	14272(%rdi), %zmm2
	vmovapd	14336(%rdi), %zmm3
	vmovapd	28224(%rdi), %zmm18
	vfmsub231pd	%zmm1, %zmm3, %zmm18
	vfmadd231pd	%zmm23, %zmm2, %zmm18
	vfnmadd213pd	28288(%rdi), %zmm3, %zmm23
	vfmadd231pd	%zmm1, %zmm2, %zmm23
	vmovapd	28096(%rdi), %zmm1
	vfmadd231pd	%zmm4, %zmm3, %zmm1
	vfmadd231pd	%zmm31, %zmm2, %zmm1
	vmovapd	%zmm1, %zmm5
	vfnmadd213pd	28160(%rdi), %zmm3, %zmm31
	vfmadd231pd	%zmm4, %zmm2, %zmm31
	vaddpd	28032(%rdi), %zmm6, %zmm9
	vmovapd	41984(%rdi), %zmm1
	vfnmadd132pd	%zmm23, %zmm0, %zmm1
	vfmadd231pd	41920(%rdi), %zmm18, %zmm1
	vmulpd	42752(%rdi), %zmm31, %zmm2
	vfmsub231pd	42432(%rdi), %zmm5, %zmm2
	vfmadd231pd	43072(%rdi), %zmm9, %zmm2
	vaddpd	%zmm2, %zmm1, %zmm1
	vmovapd	43136(%rdi), %zmm2
	vsubpd	%zmm1, %zmm2, %zmm1
	vmovapd	%zmm1, 1536(%rsp)
	vaddpd	%zmm1, %zmm0, %zmm14
	vbroadcastsd	.LCPI0_7(%rip), %zmm30
	vmovapd	%zmm30, %zmm3
	vfmsub213pd	%zmm31, %zmm18, %zmm3
	vmovapd	%zmm30, %zmm1
	vfmadd213pd	%zmm5, %zmm23, %zmm1
	vmovapd	%zmm5, %zmm13
	vmovapd	%zmm5, 768(%rsp)
	vmovapd	14400(%rdi), %zmm2
	vmovapd	14464(%rdi), %zmm4
	vmovapd	28928(%rdi), %zmm0
	vfnmadd231pd	%zmm23, %zmm2, %zmm0
	vfmadd231pd	%zmm14, %zmm4, %zmm0
	vmovapd	28992(%rdi), %zmm5
	vfmsub231pd	%zmm23, %zmm4, %zmm5
	vfmadd231pd	%zmm14, %zmm2, %zmm5
	vmovapd	28800(%rdi), %zmm10
	vfmadd231pd	%zmm9, %zmm4, %zmm10
	vfmadd231pd	%zmm3, %zmm2, %zmm10
	vfnmadd213pd	28864(%rdi), %zmm4, %zmm3
	vfmadd231pd	%zmm2, %zmm9, %zmm3
	vaddpd	28736(%rdi), %zmm1, %zmm4
	vmovapd	30720(%rdi), %zmm1
	vfmadd132pd	%zmm5, %zmm18, %zmm1
	vfmadd231pd	30656(%rdi), %zmm0, %zmm1
	vmulpd	31168(%rdi), %zmm3, %zmm2
	vfmadd231pd	30784(%rdi), %zmm10, %zmm2
	vfmadd231pd	31232(%rdi), %zmm4, %zmm2
	vaddpd	%zmm2, %zmm1, %zmm1
	vmovapd	31296(%rdi), %zmm2
	vsubpd	%zmm1, %zmm2, %zmm2
	vmovapd	%zmm2, 1472(%rsp)
	vbroadcastsd	.LCPI0_8(%rip), %zmm1
	vaddpd	%zmm2, %zmm18, %zmm6
	vfmadd231pd	%zmm1, %zmm0, %zmm3
	vfnmadd231pd	%zmm1, %zmm5, %zmm10
	vbroadcastsd	.LCPI0_9(%rip), %zmm2
	vfnmadd231pd	%zmm2, %zmm0, %zmm4
	vfmadd231pd	%zmm2, %zmm6, %zmm10
	vmovapd	14528(%rdi), %zmm11
	vmovapd	14592(%rdi), %zmm12
	vmulpd	%zmm5, %zmm12, %zmm7
	vfmsub231pd	%zmm6, %zmm11, %zmm7
	vfmadd213pd	29632(%rdi), %zmm12, %zmm6
	vfmadd231pd	%zmm5, %zmm11, %zmm6
	vsubpd	29696(%rdi), %zmm7, %zmm7
	vmovapd	29504(%rdi), %zmm8
	vfmadd231pd	%zmm4, %zmm12, %zmm8
	vfmadd231pd	%zmm3, %zmm11, %zmm8
	vfnmadd213pd	29568(%rdi), %zmm12, %zmm3
	vfmadd231pd	%zmm4, %zmm11, %zmm3
	vaddpd	29440(%rdi), %zmm10, %zmm10
	vmovapd	30016(%rdi), %zmm4
	vfmadd132pd	%zmm7, %zmm0, %zmm4
	vfmadd231pd	29952(%rdi), %zmm6, %zmm4
	vmulpd	30464(%rdi), %zmm3, %zmm5
	vfmadd231pd	30080(%rdi), %zmm8, %zmm5
	vfmadd231pd	30528(%rdi), %zmm10, %zmm5
	vaddpd	%zmm5, %zmm4, %zmm4
	vmovapd	30592(%rdi), %zmm5
	vsubpd	%zmm4, %zmm5, %zmm4
	vmovapd	%zmm4, 1408(%rsp)
	vaddpd	%zmm4, %zmm0, %zmm5
	vbroadcastsd	.LCPI0_10(%rip), %zmm0
	vfnmadd231pd	%zmm0, %zmm7, %zmm8
	vfmadd231pd	%zmm0, %zmm6, %zmm3
	vmovapd	14656(%rdi), %zmm11
	vmovapd	14720(%rdi), %zmm12
	vmovapd	30336(%rdi), %zmm4
	vfmsub231pd	%zmm5, %zmm12, %zmm4
	vfmadd231pd	%zmm6, %zmm11, %zmm4
	vfnmadd213pd	30400(%rdi), %zmm12, %zmm6
	vfmadd231pd	%zmm5, %zmm11, %zmm6
	vmovapd	30208(%rdi), %zmm5
	vfmadd231pd	%zmm10, %zmm12, %zmm5
	vfmadd231pd	%zmm8, %zmm11, %zmm5
	vfnmadd213pd	30272(%rdi), %zmm12, %zmm8
	vfmadd231pd	%zmm10, %zmm11, %zmm8
	vaddpd	30144(%rdi), %zmm3, %zmm10
	vmovapd	29312(%rdi), %zmm3
	vfnmadd132pd	%zmm6, %zmm7, %zmm3
	vfmadd231pd	44992(%rdi), %zmm4, %zmm3
	vmulpd	29760(%rdi), %zmm8, %zmm11
	vfmsub231pd	29376(%rdi), %zmm5, %zmm11
	vfmadd231pd	29824(%rdi), %zmm10, %zmm11
	vaddpd	%zmm11, %zmm3, %zmm11
	vmovapd	29888(%rdi), %zmm12
	vbroadcastsd	.LCPI0_11(%rip), %zmm3
	vsubpd	%zmm11, %zmm12, %zmm0
	vmovapd	%zmm0, 1344(%rsp)
	vaddpd	%zmm0, %zmm7, %zmm7
	vfnmadd231pd	%zmm3, %zmm6, %zmm5
	vbroadcastsd	.LCPI0_12(%rip), %zmm16
	vfmadd231pd	%zmm3, %zmm4, %zmm8
	vfmsub231pd	%zmm16, %zmm6, %zmm10
	vfmadd231pd	%zmm16, %zmm7, %zmm8
	vmovapd	14784(%rdi), %zmm12
	vmovapd	14848(%rdi), %zmm15
	vmovapd	31040(%rdi), %zmm11
	vfmsub231pd	%zmm7, %zmm15, %zmm11
	vfmadd231pd	%zmm4, %zmm12, %zmm11
	vfnmadd213pd	31104(%rdi), %zmm15, %zmm4
	vfmadd231pd	%zmm7, %zmm12, %zmm4
	vmovapd	30912(%rdi), %zmm7
	vfnmadd231pd	%zmm10, %zmm15, %zmm7
	vfmadd231pd	%zmm5, %zmm12, %zmm7
	vfmsub213pd	30976(%rdi), %zmm15, %zmm5
	vfmadd231pd	%zmm10, %zmm12, %zmm5
	vmovapd	30848(%rdi), %zmm10
	vsubpd	%zmm8, %zmm10, %zmm8
	vmulpd	44416(%rdi), %zmm4, %zmm10
	vfmsub231pd	44352(%rdi), %zmm11, %zmm10
	vsubpd	%zmm6, %zmm10, %zmm10
	vmulpd	44544(%rdi), %zmm5, %zmm12
	vfmadd231pd	44480(%rdi), %zmm7, %zmm12
	vfmadd231pd	44608(%rdi), %zmm8, %zmm12
	vaddpd	%zmm12, %zmm10, %zmm10
	vmovapd	44928(%rdi), %zmm12
	vsubpd	%zmm10, %zmm12, %zmm0
	vmovapd	%zmm0, 1280(%rsp)
	vsubpd	%zmm6, %zmm0, %zmm10
	vfnmadd231pd	%zmm16, %zmm10, %zmm7
	vmovapd	14912(%rdi), %zmm12
	vmovapd	31744(%rdi), %zmm6
	vfnmadd231pd	%zmm4, %zmm12, %zmm6
	vmovapd	14976(%rdi), %zmm15
	vfmadd231pd	%zmm10, %zmm15, %zmm6
	vfmsub213pd	31808(%rdi), %zmm15, %zmm4
	vfmadd231pd	%zmm10, %zmm12, %zmm4
	vfmadd231pd	%zmm16, %zmm11, %zmm8
	vmovapd	31616(%rdi), %zmm10
	vfmadd231pd	%zmm8, %zmm15, %zmm10
	vfmadd231pd	%zmm5, %zmm12, %zmm10
	vfnmadd213pd	31680(%rdi), %zmm15, %zmm5
	vfmadd231pd	%zmm8, %zmm12, %zmm5
	vaddpd	31552(%rdi), %zmm7, %zmm12
	vmovapd	43840(%rdi), %zmm7
	vfmadd132pd	%zmm4, %zmm11, %zmm7
	vfmadd231pd	43776(%rdi), %zmm6, %zmm7
	vmulpd	43968(%rdi), %zmm5, %zmm8
	vfmadd231pd	43904(%rdi), %zmm10, %zmm8
	vfmadd231pd	44224(%rdi), %zmm12, %zmm8
	vaddpd	%zmm8, %zmm7, %zmm7
	vmovapd	44288(%rdi), %zmm8
	vsubpd	%zmm7, %zmm8, %zmm0
	vmovapd	%zmm0, 1216(%rsp)
	vbroadcastsd	.LCPI0_13(%rip), %zmm7
	vaddpd	%zmm0, %zmm11, %zmm8
	vfnmadd231pd	%zmm7, %zmm6, %zmm5
	vmovapd	15040(%rdi), %zmm15
	vmovapd	15104(%rdi), %zmm17
	vmulpd	%zmm4, %zmm17, %zmm19
	vfmsub231pd	%zmm8, %zmm15, %zmm19
	vfmadd213pd	32448(%rdi), %zmm17, %zmm8
	vmovapd	32320(%rdi), %zmm11
	vfmadd231pd	%zmm12, %zmm17, %zmm11
	vfmadd231pd	%zmm5, %zmm15, %zmm11
	vfnmadd213pd	32384(%rdi), %zmm17, %zmm5
	vfmadd231pd	%zmm12, %zmm15, %zmm5
	vfmadd231pd	%zmm4, %zmm15, %zmm8
	vfmadd231pd	%zmm7, %zmm4, %zmm10
	vsubpd	32512(%rdi), %zmm19, %zmm12
	vaddpd	32256(%rdi), %zmm10, %zmm10
	vmovapd	42688(%rdi), %zmm4
	vfmadd132pd	%zmm12, %zmm6, %zmm4
	vfmadd231pd	42624(%rdi), %zmm8, %zmm4
	vmulpd	43264(%rdi), %zmm5, %zmm15
	vfmadd231pd	43200(%rdi), %zmm11, %zmm15
	vfmadd231pd	43328(%rdi), %zmm10, %zmm15
	vaddpd	%zmm15, %zmm4, %zmm4
	vmovapd	43392(%rdi), %zmm15
	vsubpd	%zmm4, %zmm15, %zmm0
	vmovapd	%zmm0, 1152(%rsp)
	vmovapd	15168(%rdi), %zmm15
	vmovapd	15232(%rdi), %zmm17
	vmulpd	%zmm10, %zmm17, %zmm4
	vfmadd231pd	%zmm5, %zmm15, %zmm4
	vmulpd	%zmm5, %zmm17, %zmm5
	vfmsub231pd	%zmm10, %zmm15, %zmm5
	vaddpd	%zmm0, %zmm6, %zmm19
	vmulpd	%zmm12, %zmm17, %zmm6
	vfmsub231pd	%zmm19, %zmm15, %zmm6
	vfmadd213pd	32960(%rdi), %zmm17, %zmm19
	vfmadd231pd	%zmm12, %zmm15, %zmm19
	vsubpd	33024(%rdi), %zmm6, %zmm24
	vmovapd	42112(%rdi), %zmm6
	vfmadd132pd	%zmm24, %zmm8, %zmm6
	vfmadd231pd	42048(%rdi), %zmm19, %zmm6
	vmulpd	42368(%rdi), %zmm5, %zmm5
	vfmadd231pd	42176(%rdi), %zmm4, %zmm5
	vfmadd231pd	42496(%rdi), %zmm11, %zmm5
	vaddpd	%zmm5, %zmm6, %zmm5
	vmovapd	42560(%rdi), %zmm6
	vbroadcastsd	.LCPI0_14(%rip), %zmm26
	vsubpd	%zmm5, %zmm6, %zmm0
	vmovapd	%zmm0, 1088(%rsp)
	vaddpd	%zmm0, %zmm8, %zmm5
	vmovapd	%zmm26, %zmm6
	vbroadcastsd	.LCPI0_15(%rip), %zmm29
	vfnmadd213pd	%zmm4, %zmm24, %zmm6
	vfmsub213pd	%zmm11, %zmm24, %zmm29
	vmovapd	16832(%rdi), %zmm20
	vmovapd	33728(%rdi), %zmm8
	vfmadd231pd	%zmm19, %zmm20, %zmm8
	vmulpd	%zmm5, %zmm20, %zmm12
	vmulpd	%zmm6, %zmm20, %zmm15
	vfmadd213pd	33536(%rdi), %zmm29, %zmm20
	vmovapd	16768(%rdi), %zmm17
	vfmadd231pd	%zmm6, %zmm17, %zmm20
	vfmsub231pd	%zmm19, %zmm17, %zmm12
	vfmsub231pd	%zmm29, %zmm17, %zmm15
	vfmadd231pd	%zmm5, %zmm17, %zmm8
	vsubpd	33664(%rdi), %zmm12, %zmm6
	vsubpd	33600(%rdi), %zmm15, %zmm12
	vmovapd	37504(%rdi), %zmm15
	vfnmadd132pd	%zmm8, %zmm24, %zmm15
	vfmadd231pd	37440(%rdi), %zmm6, %zmm15
	vmulpd	37632(%rdi), %zmm12, %zmm17
	vfmadd231pd	37568(%rdi), %zmm20, %zmm17
	vaddpd	%zmm17, %zmm15, %zmm15
	vmovapd	37696(%rdi), %zmm17
	vsubpd	%zmm15, %zmm17, %zmm0
	vmovapd	%zmm0, 1024(%rsp)
	vaddpd	%zmm0, %zmm24, %zmm10
	vmovapd	%zmm10, 448(%rsp)
	vfmadd231pd	.LCPI0_16(%rip){1to8}, %zmm10, %zmm12
	vmovapd	16896(%rdi), %zmm17
	vmovapd	16960(%rdi), %zmm0
	vmulpd	%zmm8, %zmm0, %zmm28
	vfmsub231pd	%zmm6, %zmm17, %zmm28
	vfnmadd213pd	34176(%rdi), %zmm20, %zmm0
	vfmadd231pd	%zmm17, %zmm12, %zmm0
	vmovapd	%zmm0, 384(%rsp)
	vmovapd	17088(%rdi), %zmm17
	vmulpd	%zmm8, %zmm17, %zmm21
	vmovapd	17024(%rdi), %zmm8
	vfmsub231pd	%zmm6, %zmm8, %zmm21
	vfnmadd213pd	34752(%rdi), %zmm17, %zmm20
	vfmadd231pd	%zmm12, %zmm8, %zmm20
	vmovapd	%zmm26, %zmm6
	vfmadd213pd	%zmm4, %zmm24, %zmm6
	vmovapd	17152(%rdi), %zmm8
	vmovapd	17216(%rdi), %zmm17
	vmulpd	%zmm6, %zmm17, %zmm0
	vfmsub231pd	%zmm29, %zmm8, %zmm0
	vmovapd	%zmm0, 192(%rsp)
	vfmadd213pd	35392(%rdi), %zmm17, %zmm29
	vfmadd231pd	%zmm6, %zmm8, %zmm29
	vmovapd	35584(%rdi), %zmm15
	vfmadd231pd	%zmm19, %zmm17, %zmm15
	vmulpd	%zmm5, %zmm17, %zmm17
	vfmsub231pd	%zmm19, %zmm8, %zmm17
	vfmadd231pd	%zmm5, %zmm8, %zmm15
	vbroadcastsd	.LCPI0_20(%rip), %zmm0
	vmovapd	%zmm0, %zmm6
	vfnmadd213pd	%zmm4, %zmm24, %zmm6
	vfmsub231pd	.LCPI0_21(%rip){1to8}, %zmm24, %zmm11
	vmovapd	17408(%rdi), %zmm8
	vmovapd	17472(%rdi), %zmm25
	vmulpd	%zmm5, %zmm25, %zmm10
	vfmsub231pd	%zmm19, %zmm8, %zmm10
	vmovapd	%zmm10, 320(%rsp)
	vmulpd	%zmm6, %zmm25, %zmm6
	vfmsub231pd	%zmm11, %zmm8, %zmm6
	vmovapd	%zmm6, 640(%rsp)
	vfmadd213pd	36736(%rdi), %zmm19, %zmm25
	vfmadd231pd	%zmm8, %zmm5, %zmm25
	vfmadd231pd	%zmm0, %zmm24, %zmm4
	vmovapd	17600(%rdi), %zmm6
	vmulpd	%zmm4, %zmm6, %zmm0
	vmovapd	17536(%rdi), %zmm4
	vfmsub231pd	%zmm11, %zmm4, %zmm0
	vmovapd	%zmm0, 896(%rsp)
	vmulpd	%zmm5, %zmm6, %zmm0
	vfmsub231pd	%zmm19, %zmm4, %zmm0
	vmovapd	%zmm0, 832(%rsp)
	vfmadd213pd	37376(%rdi), %zmm6, %zmm19
	vfmadd231pd	%zmm5, %zmm4, %zmm19
	vmovapd	%zmm30, %zmm5
	vfnmsub213pd	%zmm31, %zmm18, %zmm5
	vmovapd	15296(%rdi), %zmm4
	vmovapd	38016(%rdi), %zmm6
	vfnmadd231pd	%zmm23, %zmm4, %zmm6
	vmovapd	15360(%rdi), %zmm8
	vmovapd	%zmm14, 576(%rsp)
	vfmadd231pd	%zmm14, %zmm8, %zmm6
	vmovapd	38080(%rdi), %zmm11
	vfmsub231pd	%zmm23, %zmm8, %zmm11
	vmovapd	37888(%rdi), %zmm22
	vmovapd	%zmm9, 704(%rsp)
	vfmadd231pd	%zmm9, %zmm8, %zmm22
	vfmadd231pd	%zmm5, %zmm4, %zmm22
	vfnmadd213pd	37952(%rdi), %zmm8, %zmm5
	vfmadd231pd	%zmm14, %zmm4, %zmm11
	vfmadd231pd	%zmm4, %zmm9, %zmm5
	vfnmadd213pd	%zmm13, %zmm23, %zmm30
	vaddpd	37824(%rdi), %zmm30, %zmm8
	vmovapd	26688(%rdi), %zmm4
	vfmadd132pd	%zmm11, %zmm18, %zmm4
	vfmadd231pd	26624(%rdi), %zmm6, %zmm4
	vmulpd	26944(%rdi), %zmm5, %zmm30
	vfmadd231pd	26752(%rdi), %zmm22, %zmm30
	vfmadd231pd	27008(%rdi), %zmm8, %zmm30
	vaddpd	%zmm30, %zmm4, %zmm4
	vmovapd	27072(%rdi), %zmm30
	vsubpd	%zmm4, %zmm30, %zmm0
	vmovapd	%zmm0, 960(%rsp)
	vfmadd231pd	%zmm1, %zmm6, %zmm5
	vfnmadd231pd	%zmm1, %zmm11, %zmm22
	vfmadd231pd	%zmm2, %zmm6, %zmm8
	vaddpd	%zmm0, %zmm18, %zmm4
	vfnmadd231pd	%zmm2, %zmm4, %zmm22
	vmovapd	15424(%rdi), %zmm1
	vmovapd	15488(%rdi), %zmm30
	vmulpd	%zmm11, %zmm30, %zmm0
	vfmsub231pd	%zmm4, %zmm1, %zmm0
	vfmadd213pd	38720(%rdi), %zmm30, %zmm4
	vfmadd231pd	%zmm11, %zmm1, %zmm4
	vmovapd	38592(%rdi), %zmm2
	vfmadd231pd	%zmm8, %zmm30, %zmm2
	vfmadd231pd	%zmm5, %zmm1, %zmm2
	vfnmadd213pd	38656(%rdi), %zmm30, %zmm5
	vfmadd231pd	%zmm8, %zmm1, %zmm5
	vsubpd	38784(%rdi), %zmm0, %zmm8
	vaddpd	38528(%rdi), %zmm22, %zmm11
	vmovapd	25856(%rdi), %zmm0
	vfmadd132pd	%zmm8, %zmm6, %zmm0
	vfmadd231pd	25792(%rdi), %zmm4, %zmm0
	vmulpd	25984(%rdi), %zmm5, %zmm1
	vfmadd231pd	25920(%rdi), %zmm2, %zmm1
	vfmadd231pd	26048(%rdi), %zmm11, %zmm1
	vaddpd	%zmm1, %zmm0, %zmm0
	vmovapd	26560(%rdi), %zmm1
	vsubpd	%zmm0, %zmm1, %zmm0
	vmovapd	%zmm0, 512(%rsp)
	vbroadcastsd	.LCPI0_10(%rip), %zmm1
	vfnmadd231pd	%zmm1, %zmm8, %zmm2
	vfmadd231pd	%zmm1, %zmm4, %zmm5
	vaddpd	%zmm0, %zmm6, %zmm0
	vmovapd	15616(%rdi), %zmm6
	vmovapd	39424(%rdi), %zmm1
	vfmsub231pd	%zmm0, %zmm6, %zmm1
	vmovapd	15552(%rdi), %zmm22
	vfmadd231pd	%zmm4, %zmm22, %zmm1
	vfnmadd213pd	39488(%rdi), %zmm6, %zmm4
	vfmadd231pd	%zmm0, %zmm22, %zmm4
	vmovapd	39296(%rdi), %zmm0
	vfmadd231pd	%zmm11, %zmm6, %zmm0
	vfmadd231pd	%zmm2, %zmm22, %zmm0
	vfnmadd213pd	39360(%rdi), %zmm6, %zmm2
	vfmadd231pd	%zmm11, %zmm22, %zmm2
	vaddpd	39232(%rdi), %zmm5, %zmm5
	vmovapd	45376(%rdi), %zmm6
	vfnmadd132pd	%zmm4, %zmm8, %zmm6
	vfmadd231pd	45440(%rdi), %zmm1, %zmm6
	vmulpd	45184(%rdi), %zmm2, %zmm11
	vfmsub231pd	45312(%rdi), %zmm0, %zmm11
	vfmadd231pd	45120(%rdi), %zmm5, %zmm11
	vaddpd	%zmm11, %zmm6, %zmm6
	vmovapd	45056(%rdi), %zmm11
	vsubpd	%zmm6, %zmm11, %zmm6
	vmovapd	%zmm6, 256(%rsp)
	vfnmadd231pd	%zmm3, %zmm4, %zmm0
	vfmadd231pd	%zmm3, %zmm1, %zmm2
	vaddpd	%zmm6, %zmm8, %zmm6
	vfmsub231pd	%zmm16, %zmm4, %zmm5
	vmovapd	15744(%rdi), %zmm8
	vmovapd	40128(%rdi), %zmm3
	vfmsub231pd	%zmm6, %zmm8, %zmm3
	vmovapd	15680(%rdi), %zmm11
	vfmadd231pd	%zmm1, %zmm11, %zmm3
	vfnmadd213pd	40192(%rdi), %zmm8, %zmm1
	vmovapd	40000(%rdi), %zmm22
	vfnmadd231pd	%zmm5, %zmm8, %zmm22
	vfmadd231pd	%zmm0, %zmm11, %zmm22
	vfmsub213pd	40064(%rdi), %zmm8, %zmm0
	vfmadd231pd	%zmm5, %zmm11, %zmm0
	vfmadd231pd	%zmm6, %zmm11, %zmm1
	vfmadd231pd	%zmm16, %zmm6, %zmm2
	vmovapd	39936(%rdi), %zmm5
	vsubpd	%zmm2, %zmm5, %zmm5
	vmulpd	45760(%rdi), %zmm1, %zmm2
	vfmsub231pd	45824(%rdi), %zmm3, %zmm2
	vsubpd	%zmm4, %zmm2, %zmm2
	vmulpd	45632(%rdi), %zmm0, %zmm6
	vfmadd231pd	45696(%rdi), %zmm22, %zmm6
	vfmadd231pd	45568(%rdi), %zmm5, %zmm6
	vaddpd	%zmm6, %zmm2, %zmm2
	vmovapd	45504(%rdi), %zmm6
	vsubpd	%zmm2, %zmm6, %zmm2
	vmovapd	%zmm2, 128(%rsp)
	vsubpd	%zmm4, %zmm2, %zmm4
	vfmadd231pd	%zmm16, %zmm3, %zmm5
	vmovapd	15808(%rdi), %zmm6
	vmovapd	41024(%rdi), %zmm2
	vfnmadd231pd	%zmm1, %zmm6, %zmm2
	vmovapd	15872(%rdi), %zmm8
	vfmadd231pd	%zmm4, %zmm8, %zmm2
	vfmsub213pd	41088(%rdi), %zmm8, %zmm1
	vmovapd	40896(%rdi), %zmm11
	vfmadd231pd	%zmm5, %zmm8, %zmm11
	vfmadd231pd	%zmm0, %zmm6, %zmm11
	vfnmadd213pd	40960(%rdi), %zmm8, %zmm0
	vfmadd231pd	%zmm5, %zmm6, %zmm0
	vfmadd231pd	%zmm4, %zmm6, %zmm1
	vfnmadd231pd	%zmm16, %zmm4, %zmm22
	vaddpd	40832(%rdi), %zmm22, %zmm4
	vmovapd	46336(%rdi), %zmm5
	vfmadd132pd	%zmm1, %zmm3, %zmm5
	vfmadd231pd	46400(%rdi), %zmm2, %zmm5
	vmulpd	46208(%rdi), %zmm0, %zmm6
	vfmadd231pd	46272(%rdi), %zmm11, %zmm6
	vfmadd231pd	46144(%rdi), %zmm4, %zmm6
	vaddpd	%zmm6, %zmm5, %zmm5
	vmovapd	46080(%rdi), %zmm6
	vsubpd	%zmm5, %zmm6, %zmm5
	vmovapd	%zmm5, 64(%rsp)
	vfnmadd231pd	%zmm7, %zmm2, %zmm0
	vfmadd231pd	%zmm7, %zmm1, %zmm11
	vaddpd	%zmm5, %zmm3, %zmm3
	vmovapd	15936(%rdi), %zmm5
	vmovapd	16000(%rdi), %zmm7
	vmulpd	%zmm1, %zmm7, %zmm8
	vfmsub231pd	%zmm3, %zmm5, %zmm8
	vfmadd213pd	41728(%rdi), %zmm7, %zmm3
	vfmadd231pd	%zmm1, %zmm5, %zmm3
	vmovapd	41600(%rdi), %zmm16
	vfmadd231pd	%zmm4, %zmm7, %zmm16
	vfmadd231pd	%zmm0, %zmm5, %zmm16
	vfnmadd213pd	41664(%rdi), %zmm7, %zmm0
	vfmadd231pd	%zmm4, %zmm5, %zmm0
	vsubpd	41792(%rdi), %zmm8, %zmm5
	vaddpd	41536(%rdi), %zmm11, %zmm1
	vmovapd	46912(%rdi), %zmm4
	vfmadd132pd	%zmm5, %zmm2, %zmm4
	vfmadd231pd	46976(%rdi), %zmm3, %zmm4
	vmulpd	46784(%rdi), %zmm0, %zmm7
	vfmadd231pd	46848(%rdi), %zmm16, %zmm7
	vfmadd231pd	46720(%rdi), %zmm1, %zmm7
	vaddpd	%zmm7, %zmm4, %zmm4
	vmovapd	46464(%rdi), %zmm7
	vsubpd	%zmm4, %zmm7, %zmm4
	vmovapd	%zmm4, (%rsp)
	vmovapd	16064(%rdi), %zmm7
	vmovapd	16128(%rdi), %zmm8
	vmulpd	%zmm1, %zmm8, %zmm13
	vfmadd231pd	%zmm0, %zmm7, %zmm13
	vmulpd	%zmm0, %zmm8, %zmm0
	vfmsub231pd	%zmm1, %zmm7, %zmm0
	vaddpd	%zmm4, %zmm2, %zmm6
	vmulpd	%zmm5, %zmm8, %zmm2
	vfmsub231pd	%zmm6, %zmm7, %zmm2
	vfmadd213pd	42240(%rdi), %zmm8, %zmm6
	vfmadd231pd	%zmm5, %zmm7, %zmm6
	vsubpd	42304(%rdi), %zmm2, %zmm9
	vmovapd	47616(%rdi), %zmm5
	vfmadd132pd	%zmm9, %zmm3, %zmm5
	vfmadd231pd	47680(%rdi), %zmm6, %zmm5
	vmulpd	47488(%rdi), %zmm0, %zmm0
	vfmadd231pd	47552(%rdi), %zmm13, %zmm0
	vfmadd231pd	47424(%rdi), %zmm16, %zmm0
	vaddpd	%zmm0, %zmm5, %zmm0
	vmovapd	47040(%rdi), %zmm5
	vsubpd	%zmm0, %zmm5, %zmm30
	vaddpd	%zmm30, %zmm3, %zmm10
	vmovapd	%zmm26, %zmm8
	vfmadd213pd	%zmm13, %zmm9, %zmm8
	vbroadcastsd	.LCPI0_15(%rip), %zmm12
	vfnmadd213pd	%zmm16, %zmm9, %zmm12
	vmovapd	17728(%rdi), %zmm5
	vmovapd	42944(%rdi), %zmm2
	vfmadd231pd	%zmm10, %zmm5, %zmm2
	vmovapd	42816(%rdi), %zmm0
	vfmadd231pd	%zmm12, %zmm5, %zmm0
	vmovapd	17664(%rdi), %zmm7
	vfmadd231pd	%zmm8, %zmm7, %zmm0
	vfnmadd213pd	42880(%rdi), %zmm5, %zmm8
	vmulpd	%zmm6, %zmm5, %zmm5
	vfmsub231pd	%zmm10, %zmm7, %zmm5
	vfmadd231pd	%zmm6, %zmm7, %zmm2
	vfmadd231pd	%zmm7, %zmm12, %zmm8
	vsubpd	43008(%rdi), %zmm5, %zmm14
	vmovapd	21376(%rdi), %zmm7
	vfmsub132pd	%zmm14, %zmm9, %zmm7
	vfmadd231pd	21312(%rdi), %zmm2, %zmm7
	vmulpd	21504(%rdi), %zmm8, %zmm11
	vfmadd231pd	21440(%rdi), %zmm0, %zmm11
	vaddpd	%zmm11, %zmm7, %zmm7
	vmovapd	47744(%rdi), %zmm11
	vsubpd	%zmm7, %zmm11, %zmm22
	vsubpd	%zmm9, %zmm22, %zmm5
	vbroadcastsd	.LCPI0_16(%rip), %zmm11
	vfmadd231pd	%zmm11, %zmm5, %zmm8
	vmovapd	17856(%rdi), %zmm4
	vmovapd	43520(%rdi), %zmm7
	vfmadd231pd	%zmm14, %zmm4, %zmm7
	vmovapd	17792(%rdi), %zmm1
	vfmadd231pd	%zmm2, %zmm1, %zmm7
	vfnmadd213pd	43456(%rdi), %zmm0, %zmm4
	vfmadd231pd	%zmm1, %zmm8, %zmm4
	vmovapd	17984(%rdi), %zmm3
	vfmadd213pd	44096(%rdi), %zmm3, %zmm14
	vmovapd	17920(%rdi), %zmm1
	vfmadd231pd	%zmm2, %zmm1, %zmm14
	vfnmadd213pd	44032(%rdi), %zmm3, %zmm0
	vfmadd231pd	%zmm8, %zmm1, %zmm0
	vbroadcastsd	.LCPI0_17(%rip), %zmm1
	vsubpd	34240(%rdi), %zmm28, %zmm28
	vmovapd	448(%rsp), %zmm2
	vfmadd213pd	%zmm2, %zmm1, %zmm28
	vsubpd	34816(%rdi), %zmm21, %zmm21
	vfnmadd213pd	%zmm2, %zmm1, %zmm21
	vfmadd213pd	%zmm5, %zmm1, %zmm7
	vfnmadd213pd	%zmm5, %zmm1, %zmm14
	vbroadcastsd	.LCPI0_18(%rip), %zmm8
	vfnmadd231pd	384(%rsp), %zmm8, %zmm28
	vfnmadd231pd	%zmm20, %zmm8, %zmm21
	vsubpd	35520(%rdi), %zmm17, %zmm1
	vfnmadd132pd	36416(%rdi), %zmm24, %zmm15
	vfmadd231pd	36352(%rdi), %zmm1, %zmm15
	vmovapd	192(%rsp), %zmm1
	vsubpd	35456(%rdi), %zmm1, %zmm1
	vmulpd	36928(%rdi), %zmm1, %zmm2
	vfmadd231pd	36480(%rdi), %zmm29, %zmm2
	vaddpd	%zmm2, %zmm15, %zmm2
	vmovapd	36992(%rdi), %zmm3
	vsubpd	%zmm2, %zmm3, %zmm3
	vmovapd	17344(%rdi), %zmm17
	vfmadd213pd	35968(%rdi), %zmm29, %zmm17
	vaddpd	%zmm3, %zmm24, %zmm2
	vfmadd231pd	%zmm11, %zmm2, %zmm1
	vfmadd231pd	17280(%rdi), %zmm1, %zmm17
	vfmsub213pd	%zmm2, %zmm8, %zmm17
	vfnmadd231pd	%zmm4, %zmm8, %zmm7
	vfnmadd231pd	%zmm0, %zmm8, %zmm14
	vfnmadd213pd	%zmm13, %zmm9, %zmm26
	vmovapd	18112(%rdi), %zmm0
	vmovapd	44672(%rdi), %zmm1
	vfmadd231pd	%zmm12, %zmm0, %zmm1
	vmovapd	18048(%rdi), %zmm2
	vfmadd231pd	%zmm26, %zmm2, %zmm1
	vfnmadd213pd	44736(%rdi), %zmm0, %zmm26
	vfmadd231pd	%zmm12, %zmm2, %zmm26
	vmovapd	44800(%rdi), %zmm4
	vfmadd231pd	%zmm10, %zmm0, %zmm4
	vmulpd	%zmm6, %zmm0, %zmm0
	vfmsub231pd	%zmm10, %zmm2, %zmm0
	vfmadd231pd	%zmm6, %zmm2, %zmm4
	vsubpd	44864(%rdi), %zmm0, %zmm0
	vfmsub132pd	28672(%rdi), %zmm9, %zmm0
	vfmadd231pd	29056(%rdi), %zmm4, %zmm0
	vmulpd	28544(%rdi), %zmm26, %zmm2
	vfmadd231pd	28608(%rdi), %zmm1, %zmm2
	vaddpd	%zmm2, %zmm0, %zmm0
	vmovapd	28480(%rdi), %zmm2
	vsubpd	%zmm0, %zmm2, %zmm2
	vsubpd	%zmm9, %zmm2, %zmm0
	vfmadd231pd	%zmm11, %zmm0, %zmm26
	vmovapd	18240(%rdi), %zmm12
	vfmadd213pd	45248(%rdi), %zmm1, %zmm12
	vfmadd231pd	18176(%rdi), %zmm26, %zmm12
	vfmsub213pd	%zmm0, %zmm8, %zmm12
	vmovapd	320(%rsp), %zmm0
	vsubpd	36672(%rdi), %zmm0, %zmm0
	vbroadcastsd	.LCPI0_22(%rip), %zmm1
	vfmadd213pd	%zmm24, %zmm1, %zmm25
	vbroadcastsd	.LCPI0_23(%rip), %zmm4
	vfmadd231pd	%zmm0, %zmm4, %zmm25
	vmovapd	18304(%rdi), %zmm0
	vmovapd	18368(%rdi), %zmm5
	vmulpd	%zmm6, %zmm5, %zmm8
	vfmsub231pd	%zmm10, %zmm0, %zmm8
	vsubpd	46016(%rdi), %zmm8, %zmm15
	vfnmsub213pd	%zmm9, %zmm1, %zmm15
	vmovapd	45952(%rdi), %zmm1
	vfmadd231pd	%zmm10, %zmm5, %zmm1
	vfmadd231pd	%zmm6, %zmm0, %zmm1
	vfmadd231pd	%zmm1, %zmm4, %zmm15
	vmovapd	640(%rsp), %zmm1
	vsubpd	36608(%rdi), %zmm1, %zmm1
	vbroadcastsd	.LCPI0_24(%rip), %zmm4
	vfmadd231pd	%zmm1, %zmm4, %zmm25
	vfnmadd231pd	.LCPI0_21(%rip){1to8}, %zmm9, %zmm16
	vbroadcastsd	.LCPI0_20(%rip), %zmm8
	vmovapd	%zmm8, %zmm1
	vfmadd213pd	%zmm13, %zmm9, %zmm1
	vfnmadd213pd	45888(%rdi), %zmm5, %zmm1
	vfmadd231pd	%zmm0, %zmm16, %zmm1
	vfmadd231pd	%zmm1, %zmm4, %zmm15
	vfnmadd231pd	%zmm8, %zmm9, %zmm13
	vmovapd	18432(%rdi), %zmm0
	vmovapd	18496(%rdi), %zmm1
	vmulpd	%zmm6, %zmm1, %zmm4
	vfmsub231pd	%zmm10, %zmm0, %zmm4
	vfmadd213pd	46592(%rdi), %zmm1, %zmm10
	vfmadd231pd	%zmm6, %zmm0, %zmm10
	vfnmadd213pd	46528(%rdi), %zmm1, %zmm13
	vbroadcastsd	.LCPI0_26(%rip), %zmm1
	vfmadd231pd	%zmm16, %zmm0, %zmm13
	vfnmadd213pd	%zmm24, %zmm1, %zmm19
	vsubpd	46656(%rdi), %zmm4, %zmm0
	vbroadcastsd	.LCPI0_27(%rip), %zmm4
	vfmsub213pd	%zmm9, %zmm1, %zmm0
	vmovapd	832(%rsp), %zmm1
	vsubpd	37312(%rdi), %zmm1, %zmm1
	vfmadd231pd	%zmm1, %zmm4, %zmm19
	vfmadd231pd	%zmm10, %zmm4, %zmm0
	vmovaps	1920(%rsp), %zmm1
	vmovaps	%zmm1, 10624(%rsi)
	vmovaps	1792(%rsp), %zmm1
	vmovaps	%zmm1, 10688(%rsi)
	vmovapd	1856(%rsp), %zmm1
	vfmadd132pd	.LCPI0_2(%rip){1to8}, %zmm1, %zmm27
	vmovapd	1728(%rsp), %zmm1
	vsubpd	26816(%rdi), %zmm1, %zmm1
	vfmadd231pd	.LCPI0_3(%rip){1to8}, %zmm1, %zmm27
	vmovapd	1664(%rsp), %zmm1
	vfmadd231pd	.LCPI0_4(%rip){1to8}, %zmm1, %zmm27
	vmovapd	54848(%rdi), %zmm1
	vfmsub132pd	.LCPI0_5(%rip){1to8}, %zmm27, %zmm1
	vmovapd	%zmm1, 10752(%rsi)
	vmovaps	1600(%rsp), %zmm1
	vmovaps	%zmm1, 10816(%rsi)
	vmovaps	1536(%rsp), %zmm1
	vmovaps	%zmm1, 10880(%rsi)
	vmovaps	1472(%rsp), %zmm1
	vmovaps	%zmm1, 10944(%rsi)
	vmovaps	1408(%rsp), %zmm1
	vmovaps	%zmm1, 11008(%rsi)
	vmovaps	1344(%rsp), %zmm1
	vmovaps	%zmm1, 11072(%rsi)
	vmovaps	1280(%rsp), %zmm1
	vmovaps	%zmm1, 11136(%rsi)
	vmovaps	1216(%rsp), %zmm1
	vmovaps	%zmm1, 11200(%rsi)
	vmovaps	1152(%rsp), %zmm1
	vmovaps	%zmm1, 11264(%rsi)
	vbroadcastsd	.LCPI0_19(%rip), %zmm1
	vmovaps	1088(%rsp), %zmm4
	vmovaps	%zmm4, 11328(%rsi)
	vmovaps	1024(%rsp), %zmm4
	vmovaps	%zmm4, 11392(%rsi)
	vfmsub231pd	37120(%rdi), %zmm1, %zmm28
	vmovapd	%zmm28, 11456(%rsi)
	vfmsub231pd	37056(%rdi), %zmm1, %zmm21
	vmovapd	%zmm21, 11520(%rsi)
	vmovapd	%zmm3, 11584(%rsi)
	vfmsub231pd	36288(%rdi), %zmm1, %zmm17
	vmovapd	%zmm17, 11648(%rsi)
	vbroadcastsd	.LCPI0_28(%rip), %zmm3
	vmovapd	896(%rsp), %zmm4
	vsubpd	37248(%rdi), %zmm4, %zmm4
	vfmadd231pd	%zmm4, %zmm3, %zmm19
	vfmadd231pd	%zmm13, %zmm3, %zmm0
	vbroadcastsd	.LCPI0_30(%rip), %zmm3
	vmovapd	576(%rsp), %zmm13
	vfmsub231pd	%zmm3, %zmm13, %zmm31
	vfmadd213pd	704(%rsp), %zmm23, %zmm3
	vbroadcastsd	.LCPI0_12(%rip), %zmm5
	vfnmadd231pd	%zmm5, %zmm18, %zmm3
	vmovapd	768(%rsp), %zmm9
	vfmadd231pd	%zmm5, %zmm13, %zmm9
	vmovapd	16192(%rdi), %zmm4
	vmovapd	16256(%rdi), %zmm5
	vmulpd	%zmm23, %zmm5, %zmm6
	vfmsub231pd	%zmm18, %zmm4, %zmm6
	vfmadd213pd	47360(%rdi), %zmm5, %zmm18
	vfmadd231pd	%zmm23, %zmm4, %zmm18
	vmovapd	47168(%rdi), %zmm8
	vfmadd231pd	%zmm31, %zmm5, %zmm8
	vfmadd231pd	%zmm9, %zmm4, %zmm8
	vfnmadd213pd	47232(%rdi), %zmm5, %zmm9
	vsubpd	47296(%rdi), %zmm6, %zmm5
	vfmadd231pd	%zmm31, %zmm4, %zmm9
	vaddpd	47104(%rdi), %zmm3, %zmm3
	vmovapd	32896(%rdi), %zmm4
	vfnmadd132pd	%zmm18, %zmm13, %zmm4
	vfmadd231pd	33088(%rdi), %zmm5, %zmm4
	vmulpd	32768(%rdi), %zmm9, %zmm6
	vmovapd	%zmm9, %zmm10
	vfmadd231pd	32832(%rdi), %zmm8, %zmm6
	vfmadd231pd	32704(%rdi), %zmm3, %zmm6
	vaddpd	%zmm6, %zmm4, %zmm4
	vmovapd	32640(%rdi), %zmm6
	vsubpd	%zmm4, %zmm6, %zmm4
	vaddpd	%zmm4, %zmm13, %zmm6
	vmovapd	18560(%rdi), %zmm8
	vmovapd	18624(%rdi), %zmm9
	vmulpd	%zmm10, %zmm9, %zmm10
	vfmsub231pd	%zmm3, %zmm8, %zmm10
	vmovapd	47808(%rdi), %zmm3
	vfnmadd231pd	%zmm18, %zmm8, %zmm3
	vfmadd231pd	%zmm6, %zmm9, %zmm3
	vfmsub213pd	47872(%rdi), %zmm9, %zmm18
	vfmadd231pd	%zmm6, %zmm8, %zmm18
	vbroadcastsd	.LCPI0_25(%rip), %zmm6
	vbroadcastsd	.LCPI0_29(%rip), %zmm8
	vfmsub231pd	35904(%rdi), %zmm6, %zmm25
	vmovapd	%zmm25, 11712(%rsi)
	vfmsub231pd	35840(%rdi), %zmm8, %zmm19
	vmovapd	%zmm19, 11776(%rsi)
	vmovaps	960(%rsp), %zmm9
	vmovaps	%zmm9, 11840(%rsi)
	vmovaps	512(%rsp), %zmm9
	vmovaps	%zmm9, 11904(%rsi)
	vmovaps	256(%rsp), %zmm9
	vmovaps	%zmm9, 11968(%rsi)
	vmovaps	128(%rsp), %zmm9
	vmovaps	%zmm9, 12032(%rsi)
	vmovaps	64(%rsp), %zmm9
	vmovaps	%zmm9, 12096(%rsi)
	vmovaps	(%rsp), %zmm9
	vmovaps	%zmm9, 12160(%rsi)
	vmovapd	%zmm30, 12224(%rsi)
	vmovapd	%zmm22, 12288(%rsi)
	vfmsub231pd	21248(%rdi), %zmm1, %zmm7
	vmovapd	%zmm7, 12352(%rsi)
	vfmsub231pd	21184(%rdi), %zmm1, %zmm14
	vmovapd	%zmm14, 12416(%rsi)
	vmovapd	%zmm2, 12480(%rsi)
	vfmsub231pd	29120(%rdi), %zmm1, %zmm12
	vmovapd	%zmm12, 12544(%rsi)
	vfmsub231pd	29184(%rdi), %zmm6, %zmm15
	vmovapd	%zmm15, 12608(%rsi)
	vfmsub231pd	29248(%rdi), %zmm8, %zmm0
	vmovapd	%zmm0, 12672(%rsi)
	vmovapd	%zmm4, 12736(%rsi)
	vfmadd132pd	.LCPI0_31(%rip){1to8}, %zmm5, %zmm18
	vfmadd231pd	.LCPI0_32(%rip){1to8}, %zmm3, %zmm18
	vfmadd231pd	.LCPI0_33(%rip){1to8}, %zmm10, %zmm18
	vmovapd	33216(%rdi), %zmm0
	vfmsub132pd	.LCPI0_34(%rip){1to8}, %zmm18, %zmm0
	vmovapd	%zmm0, 12800(%rsi)
	movq	%rbp, %rsp
	vzeroupper
