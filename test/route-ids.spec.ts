import { Controller, Get, Module, type Type } from '@nestjs/common';
import { RouteIds } from '../src/route-ids.js';

function controller(path: string, method: string, name = 'AppController'): Type {
  const type = { [name]: class {} }[name]!;
  const handler = function get() {};
  Object.defineProperty(type.prototype, 'get', { value: handler, enumerable: false });
  const descriptor = Object.getOwnPropertyDescriptor(type.prototype, 'get')!;
  Get(method)(type.prototype, 'get', descriptor);
  Controller(path)(type);
  return type;
}

function moduleUnder(path: string): Type {
  @Module({})
  class SomeModule {}
  Reflect.defineMetadata('__module_path__1', path, SomeModule);
  return SomeModule;
}

function idOf(ids: RouteIds, type: Type, module?: Type): string {
  const handler = (type.prototype as { get: () => void }).get;
  ids.register(type, handler, 'get', module);
  return ids.of(type, handler);
}

describe('a route id', () => {
  it('is the same in every process, whatever is registered before it', () => {
    const alone = idOf(new RouteIds(), controller('a', 'x'), moduleUnder('/v1'));
    const ids = new RouteIds();
    idOf(ids, controller('a', 'x'), moduleUnder('/v2'));

    expect(idOf(ids, controller('a', 'x'), moduleUnder('/v1'))).toBe(alone);
  });

  it('is not made of the name of the class, which minifiers change (SEC-27)', () => {
    const named = idOf(new RouteIds(), controller('a', 'x'));

    expect(idOf(new RouteIds(), controller('a', 'x', 'B'))).toBe(named);
  });

  it.each([
    ['path of the class', controller('a', 'x'), controller('b', 'x')],
    ['path of the method', controller('a', 'x'), controller('a', 'y')],
  ])('tells classes of one name apart by the %s (SEC-26)', (_what, one, other) => {
    const ids = new RouteIds();

    expect(idOf(ids, one)).not.toBe(idOf(ids, other));
  });

  it('is numbered where two handlers are reached alike', () => {
    const ids = new RouteIds();

    expect(idOf(ids, controller('a', 'x'))).not.toBe(idOf(ids, controller('a', 'x')));
  });
});
