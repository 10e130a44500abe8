import type { PromptSize } from '../../admission/holdSize.ts'
import { markAtEnd } from '../../json/cutJson.ts'

const HEAD = /^data:([^;,]*)((?:;[^;,]*)*),/i
const HEAD_CHARACTERS_MAX = 256
const SNIFFED_CHARACTERS = 24
/** It begins where a run does: otherwise a long run elsewhere would be searched from each of its characters. */
const PADDING = /(?<!=)=+$/
/** The type that every provider of images takes. */
const JPEG = 'image/jpeg'
export const IMAGE_TYPES = [JPEG, 'image/png', 'image/gif', 'image/webp'] as const
export type ImageType = (typeof IMAGE_TYPES)[number]

const TYPE_OF: ReadonlyMap<string, ImageType> = new Map([
  ...IMAGE_TYPES.map((type) => [type, type] as const),
  ['image/jpg', JPEG] as const,
  ['image/pjpeg', JPEG] as const,
  ['image/x-png', 'image/png'] as const,
])
/** Types that say nothing of the bytes. */
const UNTOLD: ReadonlySet<string> = new Set(['', 'application/octet-stream', 'binary/octet-stream', 'image/*'])

/** An image within a request. */
export interface ImageData {
  readonly type: ImageType
  /** As it was sent. */
  readonly base64: string
}

/**
 * The type of an image in the spelling that providers take. The first bytes decide: files are often named for another type, which
 * OpenAI does not mind and Anthropic refuses.
 * @returns null for a type that providers do not all take
 */
export function imageType(stated: string, base64: string): ImageType | null {
  const name = stated.trim().toLowerCase()
  const known = TYPE_OF.get(name) ?? null
  return known === null && !UNTOLD.has(name) ? null : (sniffed(base64) ?? known)
}

/**
 * Takes a data URL of an image apart.
 * @returns null for one that is not base64, or of another type
 */
export function readDataUrl(url: string): ImageData | null {
  const [head, stated = '', parameters = ''] = HEAD.exec(url.slice(0, HEAD_CHARACTERS_MAX)) ?? []
  if (head === undefined || !/;\s*base64\s*$/i.test(parameters)) return null
  const base64 = url.slice(head.length)
  const type = imageType(stated, base64)
  return type === null ? null : { type, base64 }
}

/** Notes in `size` that data is forwarded as it is, where a mark is in the place of most of it. */
export function noteData(data: string, size: PromptSize): void {
  const mark = markAtEnd(data)
  if (mark === undefined) return
  size.dataMarks ??= new Set()
  size.dataMarks.add(mark)
}

/**
 * Base64 in the usual alphabet, padded and without blanks; text that cannot be made so is left as it is, as is that of which
 * most is a mark.
 */
export function plainBase64(sent: string): string {
  if (sent.length % 4 === 0 && !/[^A-Za-z0-9+/=]/.test(sent)) return sent
  const text = unescaped(sent).replace(/\s+/g, '').replaceAll('-', '+').replaceAll('_', '/').replace(PADDING, '')
  if (text.length % 4 === 1 || /[^A-Za-z0-9+/]/.test(text)) return sent
  return text.padEnd(Math.ceil(text.length / 4) * 4, '=')
}

function unescaped(text: string): string {
  if (!text.includes('%')) return text
  try {
    return decodeURIComponent(text)
  } catch {
    return text
  }
}

function sniffed(base64: string): ImageType | null {
  const bytes = Buffer.from(base64.slice(0, SNIFFED_CHARACTERS), 'base64')
  const text = bytes.toString('latin1')
  if (text.startsWith('\xff\xd8\xff')) return JPEG
  if (text.startsWith('\x89PNG')) return 'image/png'
  if (text.startsWith('GIF8')) return 'image/gif'
  return text.startsWith('RIFF') && text.slice(8, 12) === 'WEBP' ? 'image/webp' : null
}
