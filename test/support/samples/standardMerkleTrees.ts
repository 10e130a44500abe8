import type { Hex } from 'viem'

/** A tree that @openzeppelin/merkle-tree 1.0.8 has made: how many leaves it has, its root and the proof of the last leaf. */
export interface StandardTree {
  readonly leaves: number
  readonly root: Hex
  readonly proofOfLast: readonly Hex[]
}

export const STANDARD_TREES: readonly StandardTree[] = [
  {
    leaves: 1,
    root: '0x66b32740ad8041bcc3b909c72d7e1afe60094ec55e3cde329b4b3a28501d826c',
    proofOfLast: [],
  },
  {
    leaves: 2,
    root: '0x5aa221424cf4b33806b27997a2cd3e4eece0f90a0c8587681b1d1e913aa99405',
    proofOfLast: ['0x66b32740ad8041bcc3b909c72d7e1afe60094ec55e3cde329b4b3a28501d826c'],
  },
  {
    leaves: 3,
    root: '0x93d2ffea8b432577a3ad3bee2b0df168f2f266f94ea0230ce578a4296da25960',
    proofOfLast: ['0x5aa221424cf4b33806b27997a2cd3e4eece0f90a0c8587681b1d1e913aa99405'],
  },
  {
    leaves: 5,
    root: '0xd7f43d57a42ff8e102780c1ce92f918fc02220fe0352f5ac9a064887184d9206',
    proofOfLast: [
      '0xfb55c9d0e8fc4d2c0aaa1bdae19fe2b1e83455f305837f8bbbe6bb7181d0df56',
      '0x7eb3016d38e64081cdfdee63b1826219cf3ba00c3dd8251fde20e6d5aff9646a',
    ],
  },
  {
    leaves: 8,
    root: '0xfdadd97c892b4f42a03e617be9e2aad8fe8b48e9af7d43bcf7fb91c3c00275f0',
    proofOfLast: [
      '0x89a4a26e7155b5970c8ace0073ae3abb3209871dc80038583eafb210c9d742c6',
      '0x3e12da97024eb3e50544a9966b8f6311f6e7f8d7b4c9abb0109544cdd3cb1a92',
      '0xa1287b8a744e890400901c875147a3965fd4ce5e2e21e12d3c00047a26dd94ab',
    ],
  },
  {
    leaves: 13,
    root: '0x1568e2a6117d09311c9aee4bee82a431d7e4d999e75634098a7bad57722416af',
    proofOfLast: [
      '0xcf66dbddd93ee4d9f53579bb6d8b6029f13920147f1028e80f6ca8a2777e76d2',
      '0xacde6ad08393c7bbb75dbf888b0aa0f0f5a9e13857c7841b9967749306dfca1f',
      '0x9f9490ccd7be102eb434a3d01f683274228ef52368ea1f7f5ea0627d25518151',
    ],
  },
]
