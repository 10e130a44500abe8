import { existsSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'

/** The folder of the project: the nearest one above this file with a package.json and the scripts. */
function findRoot(): string {
  let folder = dirname(fileURLToPath(import.meta.url))
  while (!existsSync(join(folder, 'scripts/system-packages.mjs'))) {
    const parent = dirname(folder)
    if (parent === folder) throw new Error('the folder of the project was not found above the running program')
    folder = parent
  }
  return folder
}

export const projectRoot = findRoot()
export const systemPackagesScript = join(projectRoot, 'scripts/system-packages.mjs')

/** A compiled program next to this one, such as `proxy/main.js`. */
export function compiled(program: string): string {
  return fileURLToPath(new URL(`../../${program}`, import.meta.url))
}
