// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <iostream>
#include <vector>

int main()
{
	std::vector<int> v{ 3, 1, 2 };
	std::sort(v.begin(), v.end());
	for (int n : v)
		std::cout << n << '\n';
}
