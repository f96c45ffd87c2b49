import type { Type } from '@nestjs/common';

type Handler = object & { readonly name: string };

/** Nest's own metadata of routes, message patterns and fields, by which handlers are reached. */
const ON_CLASS = ['path', 'host', '__version__', 'graphql:resolver_type'];
const ON_HANDLER = [
  'path',
  'method',
  '__version__',
  'message',
  'microservices:pattern',
  'graphql:resolver_name',
  'graphql:resolver_type',
];

/**
 * A name for each handler that is the same in every process and over deploys: made of how the
 * handler is reached, and never of its class's or method's name alone, which minifiers change and
 * modules repeat. A handler that is reached by nothing Nest knows is named after its class.
 */
export class RouteIds {
  private readonly ids = new Map<Type, Map<Handler, string>>();
  private readonly taken = new Set<string>();

  register(type: Type, handler: Handler, method: string, module: object | null | undefined): void {
    if (this.ids.get(type)?.has(handler)) return;
    const route = [...ON_CLASS.map(read(type)), ...ON_HANDLER.map(read(handler))];
    const prefix = module ? modulePath(module) : undefined;
    const isReached = route.some((part) => part !== undefined);
    const parts = isReached ? [prefix, ...route] : [prefix, type.name, method];
    const name = `route ${JSON.stringify(parts.map((part) => part ?? null))}`;
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
