"""Tests of the pages: their code and their statements hold on a real engine."""
