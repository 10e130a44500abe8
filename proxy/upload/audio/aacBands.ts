/** The scale factor bands of AAC (ISO/IEC 14496-3, section 4.5.4): where each ends, by the index of the sample rate. */

/** Hz, by index. */
export const AAC_RATES = [
  96_000, 88_200, 64_000, 48_000, 44_100, 32_000, 24_000, 22_050, 16_000, 12_000, 11_025, 8_000, 7_350,
]

const LONG = {
  96: ends('4*14 8*5 12*5 16*2 24 28 36 44 64*11'),
  64: ends('4*14 8*4 12*3 16*3 20 24*2 28 36 40*18'),
  48: ends('4*10 8*7 12*4 16*2 20*2 24*2 28*2 32*19 96'),
  32: ends('4*10 8*7 12*4 16*2 20*2 24*2 28*2 32*22'),
  24: ends('4*11 8*10 12*4 16*3 20*2 24*2 28*2 32 36*2 40 44 48 52*2 64*5'),
  16: ends('8*11 12*9 16*4 20*3 24*2 28*2 32 36 40*2 44 48 52 56 60 64*3'),
  8: ends('12*13 16*7 20*4 24*3 28*2 32 36*2 40 44 48 52 56 60 64 80'),
}
const SHORT = {
  96: ends('4*6 8*3 16 28 36'),
  48: ends('4*5 8*3 12*3 16*3'),
  24: ends('4*7 8*3 12*2 16*2 20'),
  16: ends('4*8 8*2 12*2 16 20*2'),
  8: ends('4*7 8*4 12 16 20*2'),
}

/** Of blocks with one window of 1,024 coefficients. */
export const LONG_BANDS: readonly Uint16Array[] = [
  LONG[96],
  LONG[96],
  LONG[64],
  LONG[48],
  LONG[48],
  LONG[32],
  LONG[24],
  LONG[24],
  LONG[16],
  LONG[16],
  LONG[16],
  LONG[8],
  LONG[8],
]

/** Of blocks with eight windows of 128 coefficients. */
export const SHORT_BANDS: readonly Uint16Array[] = [
  SHORT[96],
  SHORT[96],
  SHORT[96],
  SHORT[48],
  SHORT[48],
  SHORT[48],
  SHORT[24],
  SHORT[24],
  SHORT[16],
  SHORT[16],
  SHORT[16],
  SHORT[8],
  SHORT[8],
]

/** @param widths of the bands, each with how often it follows itself */
function ends(widths: string): Uint16Array {
  let end = 0
  const bands = widths.split(' ').flatMap((part) => {
    const [width, times = 1] = part.split('*').map(Number)
    return Array.from({ length: times }, () => (end += width as number))
  })
  return Uint16Array.of(...bands)
}
