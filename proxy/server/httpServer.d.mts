export interface HttpServerPackage {
  readonly name: string
  readonly majors: readonly number[]
  readonly glibc: string
}
export const HTTP_SERVERS: readonly HttpServerPackage[]
export function httpServerFor(version: string): HttpServerPackage
export function glibcFault(name: HttpServerPackage, glibc: string | undefined): string | undefined
export function glibcOfMachine(): string | undefined
export function loadHttpServer(require: NodeJS.Require): typeof import('uWebSockets.js')
