import { stat } from 'node:fs/promises'
import { type Catalog, readCatalogFile } from '../catalog/pricing/catalogFile.ts'
import { FileError } from '../runtime/files/yamlFile.ts'
import type { Arguments } from './command.ts'
import type { CliContext } from './context.ts'

/** Runs `work` on the catalog of the argument FILE; its faults are printed line by line, and the status is 1. */
export async function withCatalog(
  args: Arguments,
  context: CliContext,
  work: (catalog: Catalog, path: string) => Promise<number | undefined>,
): Promise<number | undefined> {
  const given = args.named.get('FILE')
  const path = context.catalogPath(given)
  return orProblems(context, async () => {
    if (given !== undefined && !(await isFile(path))) throw new FileError([`${path}: there is no such file`])
    return work(await readCatalogFile(path), path)
  })
}

/** Runs work on files of the operator; the faults of a file are printed line by line, and the status is 1. */
export async function orProblems(
  context: CliContext,
  work: () => Promise<number | undefined>,
): Promise<number | undefined> {
  try {
    return await work()
  } catch (error) {
    if (!(error instanceof FileError)) throw error
    context.print({ ok: false, problems: error.problems }, error.problems.join('\n'))
    return 1
  }
}

async function isFile(path: string): Promise<boolean> {
  return stat(path).then(
    (found) => found.isFile(),
    () => false,
  )
}
