// Removes from a folder of packages what no program reads: node slim.mjs node_modules
import { readdirSync, rmSync } from 'node:fs'
import { join } from 'node:path'

/** Copies for programs that are no ES modules, sources, and what compiling them left. */
const UNUSED = [
  'gpt-tokenizer/cjs',
  'gpt-tokenizer/data',
  'gpt-tokenizer/src',
  'secp256k1/build/Release/obj.target',
  'secp256k1/src',
  'viem/_cjs',
  'viem/node_modules/ox/_cjs',
]
/** Types, maps and sources of maps. Licenses stay. */
const UNREAD = /\.(?:map|[cm]?ts|tsbuildinfo|flow)$/

const [folder = ''] = process.argv.slice(2)
for (const name of UNUSED) rmSync(join(folder, name), { recursive: true, force: true })
for (const entry of readdirSync(folder, { recursive: true, withFileTypes: true })) {
  if (entry.isFile() && UNREAD.test(entry.name)) rmSync(join(entry.parentPath, entry.name))
}
