// SPDX-License-Identifier: Apache-2.0
public class Main {
	public static void main(String[] args) {
		System.out.println(System.getProperty("user.name").length() > 0 ? "sum " + (20 + 22) : "nobody");
	}
}
