"""The paper's lemmas and theorem, and the closed form in the limit of dense cells."""
