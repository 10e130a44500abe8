import { invalidRequest } from '../../../contract/errors/errors.ts'
import { mayBePublicHost, parseWebUrl } from '../../../contract/net/publicUrl.ts'
import type { PromptSize } from '../../admission/holdSize.ts'
import { isMark } from '../../json/cutJson.ts'
import { IMAGE_TYPES, noteData, readDataUrl } from './dataUrl.ts'

const DATA = 'data:'
/** An address of the web; a data URL is bounded by the body that it is in. */
const CHARACTERS_MAX = 2_048

/**
 * Checks the address of an image that the provider is to read, and notes in `size` what kind it is: a data URL, or an
 * address of the web that the provider fetches. Names are not resolved: the provider connects, so the provider has to check
 * the addresses.
 * @returns the address to forward, as the URL standard writes it, so that the provider reads no other host in it
 * @throws GatewayError 400 with the field at fault
 */
export function readImageUrl(text: string, field: string, size: PromptSize): string {
  if (isMark(text)) return text
  if (text.slice(0, DATA.length).toLowerCase() === DATA) {
    if (readDataUrl(text) !== null) {
      noteData(text, size)
      return text
    }
    throw invalidRequest(`${field} must be a data URL in base64, of ${IMAGE_TYPES.join(', ')}.`, field)
  }
  const url = text.length <= CHARACTERS_MAX ? parseWebUrl(text) : undefined
  if (url === undefined) {
    const what = `a data URL or an https:// address of at most ${CHARACTERS_MAX} characters, without user, password and backslashes`
    throw invalidRequest(`${field} must be ${what}.`, field)
  }
  size.linkedImages = true
  if (url.protocol !== 'https:' || !mayBePublicHost(url)) size.privateImage ??= field
  return url.href
}
