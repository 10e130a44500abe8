// Verifies a receipt in a context that has only what browsers have too: node --experimental-vm-modules bareModules.js FOLDER
// reads the evidence as JSON from its input, and prints the report.
import { readFile } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import { text } from 'node:stream/consumers'
import vm from 'node:vm'

const [folder = ''] = process.argv.slice(2)
const context = vm.createContext({ crypto, TextEncoder, atob, btoa })
const modules = new Map<string, Promise<vm.SourceTextModule>>()

function moduleAt(path: string): Promise<vm.SourceTextModule> {
  const known = modules.get(path)
  if (known !== undefined) return known
  const made = readFile(path, 'utf8').then((code) => new vm.SourceTextModule(code, { context, identifier: path }))
  modules.set(path, made)
  return made
}

const main = await moduleAt(join(folder, 'verify.js'))
await main.link((name, { identifier }) => {
  if (!name.startsWith('./')) throw new Error(`${identifier} imports ${name}`)
  return moduleAt(join(dirname(identifier), name))
})
await main.evaluate()
const { verify } = main.namespace as { verify: (evidence: unknown) => Promise<unknown> }
process.stdout.write(JSON.stringify(await verify(JSON.parse(await text(process.stdin)))))
