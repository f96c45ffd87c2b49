import type { Type } from '@nestjs/common';
import type { DiscoveryService, MetadataScanner } from '@nestjs/core';

/** A method, by which Nest and we tell routes apart. */
export type Handler = object & { readonly name: string };

/** A class that the app has, and the module that it stands in. */
export interface AppClass {
  readonly type: Type;
  readonly module: object | null | undefined;
}

/** A handler that the app has: of a controller, a gateway, a resolver or any other provider. */
export interface Route extends AppClass {
  readonly handler: Handler;
  readonly method: string;
  /** As errors name it. */
  readonly place: string;
}

export function appClasses(discovery: DiscoveryService): AppClass[] {
  return [...discovery.getControllers(), ...discovery.getProviders()].flatMap(
    ({ metatype, host }) =>
      typeof metatype === 'function' && isClass(metatype)
        ? [{ type: metatype as Type, module: host?.metatype }]
        : [],
  );
}

export function appRoutes(discovery: DiscoveryService, scanner: MetadataScanner): Route[] {
  return appClasses(discovery).flatMap((owner) => {
    const prototype = owner.type.prototype as Record<string, Handler>;
    return (
      scanner
        .getAllMethodNames(prototype)
        .map((method) => ({ method, handler: prototype[method]! }))
        // Without metadata nothing reaches it, whatever else a provider can do.
        .filter(({ handler }) => Reflect.getMetadataKeys(handler).length > 0)
        .map((found) => ({ ...owner, ...found, place: `${owner.type.name}.${found.method}` }))
    );
  });
}

/** A provider may be made by an arrow function, which has no methods to guard. */
function isClass(value: object): value is { name: string; prototype: object } {
  return 'prototype' in value && typeof value.prototype === 'object' && value.prototype !== null;
}
