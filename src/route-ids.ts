import type { Type } from '@nestjs/common';

type Handler = object & { readonly name: string };

/** Nest's own metadata of controllers, gateways and resolvers, by which handlers are reached. */
const ON_CLASS = ['path', 'host', '__version__', 'port', 'graphql:resolver_type'];
/** And of their methods: of routes, of messages, of patterns and of fields. */
const ON_HANDLER = [
  'path',
  'method',
  '__version__',
  'message',
  'microservices:pattern',
  'microservices:handler_type',
  'microservices:transport',
  'graphql:resolver_name',
  'graphql:resolver_type',
  'graphql:resolve_property',
];

/**
 * A name for each handler that is the same in every process and over deploys: made of how the
 * handler is reached, and never of its class's or method's name alone, which minifiers change and
 * modules repeat. A handler that is reached by nothing Nest knows is named after its class. Those
 * that are reached alike are numbered in the order in which the app has them.
 */
export class RouteIds {
  private readonly ids = new Map<Type, Map<Handler, string>>();
  private readonly taken = new Set<string>();

  register(type: Type, handler: Handler, method: string, module: object | null | undefined): void {
    if (this.ids.get(type)?.has(handler)) return;
    const prefix = module ? modulePath(module) : undefined;
    const parts = isReached(handler)
      ? [prefix, ...ON_CLASS.map(read(type)), namespaceOf(type), ...routeOf(handler, method)]
      : [prefix, type.name, method];
    const name = `route ${JSON.stringify(parts, written)}`;
    let id = name;
    for (let copy = 2; this.taken.has(id); copy++) id = `${name} #${copy}`;
    this.taken.add(id);
    const ofType = this.ids.get(type) ?? new Map<Handler, string>();
    this.ids.set(type, ofType.set(handler, id));
  }

  /** A handler that was not there at boot is registered when it is first reached. */
  of(type: Type, handler: Handler): string {
    if (!this.ids.get(type)?.has(handler)) this.register(type, handler, handler.name, undefined);
    return this.ids.get(type)!.get(handler)!;
  }
}

/** Whether Nest's own transports reach a handler, which tells it from others whatever its name. */
export function isReached(handler: object): boolean {
  return ON_HANDLER.map(read(handler)).some((part) => part !== undefined);
}

/** A field that was given no name has its method's, in the schema too. */
function routeOf(handler: object, method: string): unknown[] {
  const isField = FIELDS.map(read(handler)).some((part) => part !== undefined);
  const isNamed = read(handler)('graphql:resolver_name') !== undefined;
  return [...ON_HANDLER.map(read(handler)), isField && !isNamed ? method : undefined];
}
const FIELDS = ['graphql:resolver_type', 'graphql:resolve_property'];

/** Gateways of one port may be told apart by what Socket.IO calls a namespace, and ws a path. */
function namespaceOf(type: Type): unknown[] {
  const options = read(type)('websockets:gateway_options') as Record<string, unknown> | undefined;
  return [options?.['namespace'], options?.['path']];
}

/** A host may be a regular expression, and a version the symbol of all versions. */
function written(_key: string, value: unknown): unknown {
  return value instanceof RegExp || typeof value === 'symbol' ? String(value) : value;
}

function read(target: object): (key: string) => unknown {
  return (key) => Reflect.getMetadata(key, target) as unknown;
}

/** The prefix that RouterModule gave a module. Its key ends in an id of the application. */
function modulePath(module: object): unknown {
  const key = (Reflect.getMetadataKeys(module) as unknown[]).find(
    (candidate) => typeof candidate === 'string' && candidate.startsWith('__module_path__'),
  );
  return key === undefined ? undefined : Reflect.getMetadata(key, module);
}
