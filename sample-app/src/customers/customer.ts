export interface Customer {
  readonly id: string;
  readonly plan: 'free' | 'pro';
}
