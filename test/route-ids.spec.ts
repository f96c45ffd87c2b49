import {
  Controller,
  Get,
  Module,
  Post,
  SetMetadata,
  VERSION_NEUTRAL,
  Version,
  type Type,
} from '@nestjs/common';
import { EventPattern, MessagePattern, Transport } from '@nestjs/microservices';
import { SubscribeMessage, WebSocketGateway } from '@nestjs/websockets';
import { RouteIds, isReached } from '../src/route-ids.js';

type Decorators = readonly [ClassDecorator[], MethodDecorator[]];

/** A class with one method, decorated; names are what a minifier would change. */
function decorated([onClass, onMethod]: Decorators, name = 'AppController', method = 'get'): Type {
  const type = { [name]: class {} }[name]!;
  const value = Object.defineProperty(() => undefined, 'name', { value: method });
  const descriptor = { value, configurable: true };
  Object.defineProperty(type.prototype, method, descriptor);
  for (const decorate of onMethod) decorate(type.prototype, method, descriptor);
  for (const decorate of onClass) decorate(type);
  return type;
}

const route = (path: string, of = 'x'): Decorators => [[Controller(path)], [Get(of)]];

function moduleUnder(path: string): Type {
  @Module({})
  class SomeModule {}
  Reflect.defineMetadata('__module_path__1', path, SomeModule);
  return SomeModule;
}

function idOf(ids: RouteIds, type: Type, module?: Type): string {
  const [, method] = Object.getOwnPropertyNames(type.prototype) as [string, string];
  const handler = (type.prototype as Record<string, () => void>)[method]!;
  ids.register(type, handler, method, module);
  return ids.of(type, handler);
}

// What @nestjs/graphql leaves on its methods.
const field = (type: string, name?: string): MethodDecorator[] => [
  SetMetadata('graphql:resolver_type', type) as MethodDecorator,
  SetMetadata('graphql:resolver_name', name) as MethodDecorator,
];
const gateway = (options: object): ClassDecorator[] => [WebSocketGateway(options)];
const message = [SubscribeMessage('ping')];

describe('a route id', () => {
  it('is the same in every process, whatever is registered before it', () => {
    const alone = idOf(new RouteIds(), decorated(route('a')), moduleUnder('/v1'));
    const ids = new RouteIds();
    idOf(ids, decorated(route('a')), moduleUnder('/v2'));

    expect(idOf(ids, decorated(route('a')), moduleUnder('/v1'))).toBe(alone);
  });

  it.each<[string, Decorators]>([
    ['route', route('a')],
    ['message of a gateway', [gateway({}), message]],
    ['pattern', [[Controller()], [MessagePattern({ cmd: 'sum' })]]],
    ['field with a name', [[], field('Query', 'books')]],
  ])('of a %s is not made of names, which minifiers change (SEC-27)', (_what, decorators) => {
    const named = idOf(new RouteIds(), decorated(decorators, 'AppController', 'get'));

    expect(idOf(new RouteIds(), decorated(decorators, 'a', 'b'))).toBe(named);
  });

  it.each<[string, Decorators, Decorators]>([
    ['path of the class', route('a'), route('b')],
    ['path of the method', route('a', 'x'), route('a', 'y')],
    ['method', route('a'), [[Controller('a')], [Post('x')]]],
    [
      'host',
      [[Controller({ host: 'a.example' })], [Get()]],
      [[Controller({ host: 'b.example' })], [Get()]],
    ],
    [
      'host, as a regular expression',
      [[Controller({ host: /^a\./ })], [Get()]],
      [[Controller({ host: /^b\./ })], [Get()]],
    ],
    [
      'version of the class',
      [[Controller({ version: '1' })], [Get()]],
      [[Controller({ version: '2' })], [Get()]],
    ],
    ['version of the method', [[Controller()], [Get(), Version('1')]], [[Controller()], [Get()]]],
    [
      'version, where one is for all of them',
      [[Controller({ version: VERSION_NEUTRAL })], [Get()]],
      [[Controller()], [Get()]],
    ],
    ['message', [gateway({}), message], [gateway({}), [SubscribeMessage('pong')]]],
    ['namespace', [gateway({ namespace: 'a' }), message], [gateway({ namespace: /b/ }), message]],
    ['path of a gateway', [gateway({ path: '/a' }), message], [gateway({ path: '/b' }), message]],
    ['port', [[WebSocketGateway(81)], message], [[WebSocketGateway(82)], message]],
    [
      'pattern',
      [[Controller()], [MessagePattern({ cmd: 'a' })]],
      [[Controller()], [MessagePattern({ cmd: 'b' })]],
    ],
    [
      'kind of pattern',
      [[Controller()], [MessagePattern('a')]],
      [[Controller()], [EventPattern('a') as MethodDecorator]],
    ],
    [
      'transport',
      [[Controller()], [MessagePattern('a', Transport.TCP)]],
      [[Controller()], [MessagePattern('a', Transport.NATS)]],
    ],
    ['name of a field', [[], field('Query', 'books')], [[], field('Query', 'authors')]],
    ['kind of field', [[], field('Query', 'books')], [[], field('Mutation', 'books')]],
  ])('tells classes of one name apart by the %s (SEC-26)', (_what, one, other) => {
    const [first, second] = [decorated(one), decorated(other)];
    const ids = new RouteIds();
    const [firstId, secondId] = [idOf(ids, first), idOf(ids, second)];
    const others = new RouteIds();

    expect(firstId).not.toBe(secondId);
    // Not by the order in which they are met, which changes with the app.
    expect([idOf(others, second), idOf(others, first)]).toEqual([secondId, firstId]);
  });

  it('is made of the method where that is the name of a field', () => {
    const [books, authors] = ['books', 'authors'].map((method) =>
      idOf(new RouteIds(), decorated([[], field('Query')], 'Library', method)),
    );

    expect(books).not.toBe(authors);
    expect(idOf(new RouteIds(), decorated([[], field('Query')], 'L', 'books'))).toBe(books);
  });

  it('is numbered where two handlers are reached alike', () => {
    const ids = new RouteIds();

    expect(idOf(ids, decorated(route('a')))).not.toBe(idOf(ids, decorated(route('a'))));
  });

  it('is made of names where nothing of Nest reaches a handler', () => {
    const decorators: Decorators = [[Controller('jobs')], [SetMetadata('queue', 'mail')]];
    const type = decorated(decorators, 'Jobs', 'send');

    expect(isReached((type.prototype as { send: object }).send)).toBe(false);
    expect(idOf(new RouteIds(), type)).toBe('route [null,"Jobs","send"]');
  });
});
