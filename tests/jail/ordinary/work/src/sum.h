/* SPDX-License-Identifier: Apache-2.0 */
int sum(int a, int b);
