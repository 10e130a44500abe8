import { GatewayError } from '../../../contract/errors/errors.ts'
import type { VideoLimits } from './limits.ts'

const HEAD = /^data:image\/(png|jpeg|jpg);base64,/i
const HEAD_CHARACTERS_MAX = 32
const PNG_SIGNATURE = Buffer.from([0x89, 0x50, 0x4e, 0x47, 0x0d, 0x0a, 0x1a, 0x0a])
const PNG_HEAD_BYTES = 24
const IHDR = Buffer.from('IHDR')

interface Size {
  readonly width: number
  readonly height: number
}

/**
 * Checks the first frame of a clip: a data URL of a PNG or JPEG whose head can be read, within the limits of size.
 * @returns the data URL
 * @throws GatewayError invalid_image, image_too_large
 */
export function checkFirstFrame(
  sent: unknown,
  limits: Pick<VideoLimits, 'videoImageBytesMax' | 'videoImageSideMax'>,
): string {
  const head = typeof sent === 'string' ? HEAD.exec(sent.slice(0, HEAD_CHARACTERS_MAX)) : null
  if (typeof sent !== 'string' || head === null) throw invalid('image must be a data URL of a PNG or JPEG, in base64.')
  const base64 = sent.slice(head[0].length)
  const bytes = base64Bytes(base64)
  if (bytes > limits.videoImageBytesMax) {
    throw tooLarge(`The first frame has ${bytes} bytes; send at most ${limits.videoImageBytesMax}.`)
  }
  const image = Buffer.from(base64, 'base64')
  // The decoder skips characters that are not base64, and accepts the alphabet for URLs as well, which providers may not
  // know.
  const isWhole = base64.length % 4 === 0 && image.length === bytes
  const isPlain = isWhole && !base64.includes('-') && !base64.includes('_')
  if (bytes === 0 || !isPlain) throw invalid('The base64 of image cannot be read.')
  const isPng = head[1]?.toLowerCase() === 'png'
  const size = isPng ? pngSize(image) : jpegSize(image)
  if (size === null || size.width === 0 || size.height === 0) {
    throw invalid(`image is not a readable ${isPng ? 'PNG' : 'JPEG'}.`)
  }
  const sideMax = limits.videoImageSideMax
  if (size.width > sideMax || size.height > sideMax) {
    throw tooLarge(`The first frame is ${size.width}x${size.height}; send at most ${sideMax} on a side.`)
  }
  return sent
}

function invalid(message: string): GatewayError {
  return new GatewayError('invalid_image', { message, param: 'image' })
}

function tooLarge(message: string): GatewayError {
  return new GatewayError('image_too_large', { message, param: 'image' })
}

function base64Bytes(base64: string): number {
  const padding = base64.endsWith('==') ? 2 : base64.endsWith('=') ? 1 : 0
  return Math.floor(((base64.length - padding) * 3) / 4)
}

/** https://www.w3.org/TR/png-3/#5PNG-file-signature: the signature, then the header chunk with width and height. */
function pngSize(image: Buffer): Size | null {
  if (image.length < PNG_HEAD_BYTES || !image.subarray(0, 8).equals(PNG_SIGNATURE)) return null
  if (!image.subarray(12, 16).equals(IHDR)) return null
  return { width: image.readUInt32BE(16), height: image.readUInt32BE(20) }
}

/** ITU-T T.81, annex B: marker segments up to the frame header, which holds height and width. */
function jpegSize(image: Buffer): Size | null {
  if (image.length < 4 || image[0] !== 0xff || image[1] !== 0xd8) return null
  let at = 2
  while (at + 4 <= image.length) {
    if (image[at] !== 0xff) return null
    const marker = image[at + 1] as number
    if (marker === 0xff) {
      at++
      continue
    }
    if (isStandalone(marker)) {
      at += 2
      continue
    }
    const length = image.readUInt16BE(at + 2)
    if (isFrameHeader(marker)) {
      if (length < 8 || at + 9 > image.length) return null
      return { height: image.readUInt16BE(at + 5), width: image.readUInt16BE(at + 7) }
    }
    // Scan data before any frame header, the end of the image, or a length that does not cover itself.
    if (marker === 0xda || marker === 0xd9 || length < 2) return null
    at += 2 + length
  }
  return null
}

function isStandalone(marker: number): boolean {
  return marker === 0x01 || (marker >= 0xd0 && marker <= 0xd7)
}

function isFrameHeader(marker: number): boolean {
  return marker >= 0xc0 && marker <= 0xcf && marker !== 0xc4 && marker !== 0xc8 && marker !== 0xcc
}
