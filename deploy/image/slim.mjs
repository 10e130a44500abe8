// Removes from a folder of packages what no program reads: node slim.mjs node_modules
import { readdirSync, rmSync } from 'node:fs'
import { join } from 'node:path'

/** Packages of development that npm installs beside others although it leaves out the development packages. */
const DEVELOPMENT = ['@foundry-rs', '@typescript', 'typescript']
/** Types, maps and sources of maps. Licenses stay. */
const UNREAD = /\.(?:map|[cm]?ts|tsbuildinfo|flow)$/

const [folder = ''] = process.argv.slice(2)
for (const name of DEVELOPMENT) rmSync(join(folder, name), { recursive: true, force: true })
for (const entry of readdirSync(folder, { recursive: true, withFileTypes: true })) {
  if (entry.isFile() && UNREAD.test(entry.name)) rmSync(join(entry.parentPath, entry.name))
}
