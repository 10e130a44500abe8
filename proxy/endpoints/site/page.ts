import { readFileSync } from 'node:fs'
import { ownAddress } from '../../../contract/net/ownAddress.ts'
import type { Handler } from '../../server/exchange.ts'

const CONTENT_TYPES = {
  'skill.md': 'text/markdown; charset=utf-8',
  'llms.txt': 'text/plain; charset=utf-8',
} as const

/**
 * Serves a text of this folder, with the gateway's own address in place of {base_url}.
 * @param publicUrl see `ownAddress`
 */
export function pageHandler(name: keyof typeof CONTENT_TYPES, publicUrl: string): Handler {
  const text = readFileSync(new URL(`./${name}`, import.meta.url), 'utf8')
  return (exchange) => {
    const body = text.replaceAll('{base_url}', ownAddress(publicUrl, exchange.head.host))
    exchange.answer(200, CONTENT_TYPES[name], body)
  }
}
